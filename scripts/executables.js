// Builds single executables: bun scripts/executables.js [--out folder] [linux-x64 | linux-arm64 | darwin-x64 | …]
// Without a name it builds all of them; `here` is for this machine, from the Bun that runs this script.
// SHA256SUMS has their checksums.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { documentationPages, packages, templateFiles } from "../src/lib/program.ts";
import { bundleOptions } from "./bundle.js";
import { buildConsole, readConsole } from "./console.js";

const targets = {
  here: undefined,
  "linux-x64": "bun-linux-x64-baseline",
  "linux-arm64": "bun-linux-arm64",
  "darwin-x64": "bun-darwin-x64",
  "darwin-arm64": "bun-darwin-arm64",
  "windows-x64": "bun-windows-x64-baseline",
};

const released = Object.keys(targets).filter((name) => name !== "here");

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const { values, positionals } = readArguments();
mkdirSync(values.out, { recursive: true });
const consoleModules = await buildConsole();
const licenses = await collectLicenses();
const pages = Object.fromEntries(documentationPages());
const template = Object.fromEntries(templateFiles());
const demoFolder = join(root, "templates/demo");
const demoFiles = Object.fromEntries(
  readdirSync(demoFolder).map((name) => [name, readFileSync(join(demoFolder, name), "base64")]),
);
const packed = writePackages();
for (const name of positionals) await build(name).catch(fail);
writeChecksums();

/** The others are built nevertheless. */
function fail(error) {
  console.error(error);
  process.exitCode = 1;
}

function readArguments() {
  const options = { out: { type: "string", default: join(root, "executables") } };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const unknown = positionals.find((name) => !(name in targets));
  if (unknown === undefined)
    return { values, positionals: positionals.length > 0 ? positionals : released };
  console.error(`There is no ${unknown}. Use ${Object.keys(targets).join(", ")}.`);
  process.exit(2);
}

/** Returns the paths of the packages that `restante new` writes. */
function writePackages() {
  const folder = mkdtempSync(join(tmpdir(), "restante-packages-"));
  process.on("exit", () => rmSync(folder, { recursive: true }));
  const paths = [...packages()].map(([name, bytes]) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  });
  if (paths.length > 0) return paths;
  console.error("The packages for `restante new` are not built. Run: npm run build");
  process.exit(1);
}

async function build(name) {
  const file = `restante-${name}${name.startsWith("windows") ? ".exe" : ""}`;
  const outfile = join(values.out, file);
  const target = targets[name];
  const result = await Bun.build({
    ...optionsOf({
      version,
      licenses,
      consoleFiles: readConsole(),
      pages,
      templateFiles: template,
      packages: packed.map((path) => basename(path)),
      demoFiles,
    }),
    // Each is a file inside, because a text of this size would be read at every start.
    entrypoints: [...bundleOptions.entrypoints, ...packed],
    naming: { entry: "[name].[ext]", asset: "[name].[ext]" },
    loader: { ".tgz": "file" },
    // Compiled in advance, it starts in a third of the time; whether that works for other machines is not tested.
    bytecode: target === undefined,
    compile: { ...(target && { target }), outfile, autoloadDotenv: false, autoloadBunfig: false },
  });
  if (!result.success) throw new AggregateError(result.logs, `${name} cannot be built`);
  console.log(`${file}  ${Math.round(Bun.file(outfile).size / 1_000_000)} MB`);
}

function optionsOf(executable) {
  return {
    ...bundleOptions,
    minify: true,
    format: "esm",
    splitting: true,
    define: { builtExecutable: JSON.stringify(executable) },
    metafile: true,
  };
}

/** Returns the licenses of this package and of all packages whose modules are inside, and of Bun. */
async function collectLicenses() {
  const { metafile } = await Bun.build(
    optionsOf({
      version,
      licenses: "",
      consoleFiles: {},
      pages: {},
      templateFiles: {},
      packages: [],
      demoFiles: {},
    }),
  );
  const inside = /node_modules\/((?:@[^/]+\/)?[^/]+)\//;
  const modules = [...Object.keys(metafile.inputs), ...consoleModules];
  const names = modules.map((path) => inside.exec(path)?.[1]);
  const packages = [...new Set(names)].filter((name) => name !== undefined).sort();
  const icons = `Lucide icons\n\n${read("console/ui/icons.LICENSE.txt")}`;
  const others = [...packages.map(licenseOf), icons, bunLicense()];
  const texts = [`Restante ${version}`, read("LICENSE"), ...others];
  return texts.join(`\n\n${"-".repeat(72)}\n\n`);
}

function read(path) {
  return readFileSync(join(root, path), "utf8").trim();
}

function licenseOf(name) {
  const folder = join("node_modules", name);
  const { version, license, author, homepage } = JSON.parse(read(join(folder, "package.json")));
  const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const by = typeof author === "object" ? author.name : author;
  const named = `${license}${by === undefined ? "" : `, by ${by}`}\n${homepage ?? ""}`.trim();
  return `${name} ${version}\n\n${file === undefined ? named : read(join(folder, file))}`;
}

function bunLicense() {
  return `Bun ${Bun.version}

MIT, by Oven. It contains JavaScriptCore and WebKit (LGPL 2.1) and other libraries.
Their licenses, and how to link Bun with another WebKit, are at https://bun.com/docs/project/license`;
}

/** In the form that `sha256sum --check` reads. */
function writeChecksums() {
  const files = readdirSync(values.out).filter((file) => file.startsWith("restante-"));
  const sum = (file) =>
    createHash("sha256")
      .update(readFileSync(join(values.out, file)))
      .digest("hex");
  const lines = files.sort().map((file) => `${sum(file)}  ${file}\n`);
  writeFileSync(join(values.out, "SHA256SUMS"), lines.join(""));
}
