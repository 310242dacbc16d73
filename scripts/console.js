// Builds the web console into dist/console, with Bun's bundler: bun scripts/console.js
// Names have a hash of their content, so that browsers may cache them for ever.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "dist/console");

/** Builds all files. Returns the paths of the modules that are inside. */
export async function buildConsole() {
  const result = await Bun.build({
    entrypoints: [join(root, "console/main.tsx")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    metafile: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]", asset: "[name].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  if (!result.success) throw new AggregateError(result.logs, "the console cannot be built");
  const files = new Map();
  for (const output of result.outputs)
    files.set(basename(output.path), { kind: output.kind, text: await output.text() });
  files.set("icon.svg", {
    kind: "asset",
    text: readFileSync(join(root, "console/icon.svg"), "utf8"),
  });
  files.set("index.html", { kind: "page", text: pageWith(files) });
  writeFolder(files);
  return Object.keys(result.metafile.inputs);
}

/** The files by name, as the server reads them. */
export function readConsole() {
  const names = readdirSync(folder);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** Puts the names of the script and of the style sheet into the page. The CSS of all chunks is in that of the entry. */
function pageWith(files) {
  const nameOf = (kind, extension) =>
    [...files].find(
      ([name, file]) => file.kind === kind && name.startsWith("main-") && name.endsWith(extension),
    )?.[0];
  return readFileSync(join(root, "console/index.html"), "utf8")
    .replace("main.tsx", nameOf("entry-point", ".js"))
    .replace("main.css", nameOf("asset", ".css"));
}

/** Replaces the folder at once, so that a server that starts now finds the former or the new one. */
function writeFolder(files) {
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  for (const [name, { text }] of files)
    if (!name.endsWith(".css") || name.startsWith("main-")) writeFileSync(join(draft, name), text);
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
}

if (import.meta.main) await buildConsole();
