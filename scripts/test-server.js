// Bundles the server for the tests that start it as a process: it starts in half the processor time of its sources.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

/** Processes, threads and the modules of actions load these by their paths. */
const entries = [
  ...["main", "index", "store/sqlite/writer", "store/sqlite/reader-thread"],
  "store/pictures/render-process",
];

/**
 * Makes a folder like the package, with the server for one runtime in a few files instead of some
 * hundred. Every file is at the depth of the modules of the server, which find others by relative paths.
 */
export function bundleServer(root, folder, runtime) {
  const dist = join(folder, "dist");
  mkdirSync(dist, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  symlinkSync(join(root, "dist/console"), join(dist, "console"));
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  for (const entry of entries) {
    const file = join(dist, `${entry}.js`);
    mkdirSync(dirname(file), { recursive: true });
    const bundled = join(dist, "bundle", `${basename(entry)}.js`);
    writeFileSync(file, `export * from "./${relative(dirname(file), bundled)}";\n`);
  }
  const { status, stderr } = spawnSync(
    join(root, "node_modules/.bin/bun"),
    [
      ...["build", `--target=${runtime}`, "--splitting", `--outdir=${join(dist, "bundle")}`],
      ...["--entry-naming=[name].js", "--chunk-naming=[name]-[hash].js"],
      ...["--external=sharp", ...entries.map((entry) => join(root, "src", `${entry}.ts`))],
    ],
    { cwd: root, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`the server cannot be bundled: ${stderr}`);
}
