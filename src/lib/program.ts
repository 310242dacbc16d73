// Finds the files of this program and the command that starts it: from sources, built modules, or inside a single executable.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { pack } from "./pack.ts";

/** Defined by scripts/executables.js, which puts it into a single executable. */
declare const builtExecutable:
  | {
      readonly version: string;
      readonly licenses: string;
      readonly consoleFiles: Readonly<Record<string, string>>;
      readonly pages: Readonly<Record<string, string>>;
      readonly templateFiles: Readonly<Record<string, string>>;
      /** The names of files inside. */
      readonly packages: readonly string[];
      /** In Base64. */
      readonly demoFiles: Readonly<Record<string, string>>;
    }
  | undefined;
const executable = typeof builtExecutable === "undefined" ? undefined : builtExecutable;

/** Defined by scripts/bundle.js, which puts the modules of each script into one file. */
declare const builtBundle: true | undefined;
const isBundle = executable !== undefined || typeof builtBundle !== "undefined";

export const isExecutable = executable !== undefined;

const readPackageFile = (name: string): string =>
  readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

export const version: string =
  executable?.version ?? JSON.parse(readPackageFile("package.json")).version;

/** The name and the version of the runtime, such as `Bun 1.4.4`. */
export function runtimeVersion(): string {
  const { bun, node } = process.versions;
  return bun === undefined ? `Node ${node}` : `Bun ${bun}`;
}

/** Returns the license of this program, in a single executable with those of all that is inside. */
export const licenses = (): string => executable?.licenses ?? readPackageFile("LICENSE");

/** Returns the files of the web console by name; none where it is not built. */
export function consoleFiles(): ReadonlyMap<string, string> {
  if (executable !== undefined) return new Map(Object.entries(executable.consoleFiles));
  const folder = new URL(
    extname(import.meta.url) === ".ts" ? "../../dist/console/" : "../console/",
    import.meta.url,
  );
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(names.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));
}

/** Returns the pages of the documentation by name, such as `reference/http`; none in an npm package. */
export function documentationPages(): ReadonlyMap<string, string> {
  if (executable !== undefined) return new Map(Object.entries(executable.pages));
  const folder = new URL("../../docs/", import.meta.url);
  const names = existsSync(folder) ? ["", "reference/"].flatMap((at) => pagesIn(folder, at)) : [];
  return new Map(names.map((name) => [name, readPackageFile(`docs/${name}.md`)]));
}

const pagesIn = (folder: URL, at: string): readonly string[] =>
  readdirSync(new URL(`./${at}`, folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => at + file.slice(0, -3));

const notOfTemplate = /^(?:node_modules|dist|data)\b|package-lock/;

/** Returns the files of the app that `restante new` writes, by their paths. */
export function templateFiles(): ReadonlyMap<string, string> {
  if (executable !== undefined) return new Map(Object.entries(executable.templateFiles));
  const folder = new URL("../../templates/app/", import.meta.url);
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(fileURLToPath(folder), join(entry.parentPath, entry.name)))
    .map((path) => path.replaceAll(sep, "/"))
    .filter((path) => !notOfTemplate.test(path));
  return new Map(paths.sort().map((path) => [path, readPackageFile(`templates/app/${path}`)]));
}

/** Returns the tarballs of this server and its client by their file names; none where they are not built. */
export function packages(): ReadonlyMap<string, Uint8Array> {
  if (executable !== undefined)
    return new Map(
      executable.packages.map((name) => [
        name,
        readFileSync(new URL(`./${name}`, import.meta.url)),
      ]),
    );
  const root = new URL("../../", import.meta.url);
  const client = `restante-client-${version}.tgz`;
  const packed = new URL(`dist/${client}`, root);
  if (!existsSync(packed)) return new Map();
  return new Map([
    [`restante-${version}.tgz`, pack(fileURLToPath(root))],
    [client, readFileSync(packed)],
  ]);
}

/** Returns a file of the demo shop: `shop.json`, or the picture of a product. */
export const demoFile = (name: string): Buffer<ArrayBuffer> =>
  executable === undefined
    ? readFileSync(new URL(`../../templates/demo/${name}`, import.meta.url))
    : Buffer.from(executable.demoFiles[name] ?? "", "base64");

/** Returns the URL of a script by its path in the sources, without the extension. Bundles are in one folder. */
export const scriptUrl = (path: string): URL =>
  isBundle
    ? new URL(`./${basename(path)}.js`, import.meta.url)
    : new URL(`../${path}${extname(import.meta.url)}`, import.meta.url);

/** Returns the arguments with which `process.execPath` runs a command of this program. */
export const commandArguments = (...command: readonly string[]): readonly string[] =>
  isExecutable ? command : [...process.execArgv, fileURLToPath(scriptUrl("main")), ...command];
