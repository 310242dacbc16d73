// The version of the package.

export { version } from "../store/version.ts";

/** The name and the version of the runtime, such as `Bun 1.4.4`. */
export function runtimeVersion(): string {
  const { bun, node } = process.versions;
  return bun === undefined ? `Node ${node}` : `Bun ${bun}`;
}
