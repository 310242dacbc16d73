// Bundles the server for Bun, with its bytecode, into dist/bun, so that it starts in a third of the processor time: bun scripts/bundle.js
// With `node` it makes one for Node, too, which `npm test` starts.

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Threads and processes load those after the first by their names. */
const scripts = [
  "main",
  "store/sqlite/writer",
  "store/sqlite/reader-thread",
  "store/pictures/render-process",
];

/** The bundler does not follow `createRequire`, with which the validator is loaded late. */
const bundleValidator = {
  name: "bundle the validator",
  setup: (build) =>
    build.onLoad({ filter: /lib\/schema\/validator\.ts$/ }, async ({ path }) => {
      const source = await Bun.file(path).text();
      const contents = source
        .replace("createRequire(import.meta.url)", "undefined")
        .replaceAll(/\bload\("(typebox\/\w+)"\)/g, 'require("$1")');
      if (!contents.includes('require("typebox/schema")'))
        throw new Error("the validator is loaded in another way now: change this build");
      return { contents, loader: "ts" };
    }),
};

/** The bundler writes the folders of this machine in its place. Only transports of pino, which are not used, need them. */
const leaveOutFolders = {
  name: "leave out folders",
  setup: (build) =>
    build.onLoad({ filter: /node_modules.(?:pino|thread-stream).*\.js$/ }, async ({ path }) => {
      const source = await Bun.file(path).text();
      return { contents: source.replaceAll("__dirname", '""'), loader: "js" };
    }),
};

/** What every bundle of the server has in common. Pictures are rendered by a library that cannot be inside. */
export const bundleOptions = {
  entrypoints: scripts.map((name) => join(root, "src", `${name}.ts`)),
  naming: "[name].[ext]",
  target: "bun",
  external: ["sharp"],
  plugins: [bundleValidator, leaveOutFolders],
};

const options = {
  bun: {
    // The only format whose bytecode can be outside of an executable. It has no import.meta.
    format: "cjs",
    bytecode: true,
    // Names and lines stay, so that an error in the log can be read. A source map takes 8 MB of memory.
    minify: { syntax: true },
    banner: 'var importMetaUrl = require("node:url").pathToFileURL(__filename).href;',
    define: { builtBundle: "true", "import.meta.url": "importMetaUrl" },
  },
  node: {
    // Modules of users import the last one, which has the classes of the others.
    entrypoints: [...bundleOptions.entrypoints, join(root, "src/model/action.ts")],
    splitting: true,
    target: "node",
    define: { builtBundle: "true" },
  },
};

/** Replaces the folder at once, so that a server that starts now finds the former or the new one. */
export async function buildBundle(runtime = "bun") {
  const folder = join(root, "dist", runtime);
  const draft = `${folder}.${process.pid}`;
  const result = await Bun.build({ ...bundleOptions, ...options[runtime], outdir: draft });
  if (!result.success) throw new AggregateError(result.logs, "the server cannot be bundled");
  mkdirSync(join(root, "dist"), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(draft, folder);
}

if (import.meta.main)
  for (const runtime of ["bun", ...process.argv.slice(2)]) await buildBundle(runtime);
