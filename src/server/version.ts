// The version of the package.

export { version } from "../store/version.ts";
