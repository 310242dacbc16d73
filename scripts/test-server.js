// Builds what the tests start again and again, the server as a process and the threads of a store, for one runtime.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const threads = ["store/sqlite/writer", "store/sqlite/reader-thread"];
/** Processes, threads and the modules of actions load these by their paths. */
const entries = ["main", "index", ...threads, "store/pictures/render-process"];

/** For Bun a single executable, which starts in a third of the processor time of a bundle. */
export function buildServer(root, folder, runtime) {
  bundleThreads(root, join(folder, "threads"), runtime);
  if (runtime === "bun") runBun(root, ["scripts/executables.js", "--out", folder, "here"]);
  else bundleServer(root, folder, runtime);
}

/** Makes one file for each thread, for Bun with its bytecode, which needs the older module format. */
function bundleThreads(root, folder, runtime) {
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  runBun(root, [
    ...["build", `--target=${runtime}`, `--root=${join(root, "src")}`, `--outdir=${folder}`],
    ...(runtime === "bun" ? ["--format=cjs", "--bytecode"] : []),
    ...threads.map((thread) => join(root, "src", `${thread}.ts`)),
  ]);
}

/**
 * Makes a folder like the package, with the server in a few files instead of some hundred, which starts in
 * half the processor time. Every file is at the depth of the modules of the server, which find others by
 * relative paths.
 */
export function bundleServer(root, folder, runtime) {
  const dist = join(folder, "dist");
  mkdirSync(dist, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  symlinkSync(join(root, "dist/console"), join(dist, "console"));
  symlinkSync(join(root, "templates"), join(folder, "templates"));
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  for (const entry of entries) {
    const file = join(dist, `${entry}.js`);
    mkdirSync(dirname(file), { recursive: true });
    const bundled = join(dist, "bundle", `${basename(entry)}.js`);
    writeFileSync(file, `export * from "./${relative(dirname(file), bundled)}";\n`);
  }
  runBun(root, [
    ...["build", `--target=${runtime}`, "--splitting", `--outdir=${join(dist, "bundle")}`],
    ...["--entry-naming=[name].js", "--chunk-naming=[name]-[hash].js"],
    ...["--external=sharp", ...entries.map((entry) => join(root, "src", `${entry}.ts`))],
  ]);
}

function runBun(root, args) {
  const bun = join(root, "node_modules/.bin/bun");
  const { status, stderr } = spawnSync(bun, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`the server cannot be built: ${stderr}`);
}
