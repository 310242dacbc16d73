// Builds what the tests start again and again: the single executable of Bun, and the threads of a store.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** The executable starts in a third of the processor time of the sources. Node starts the sources. */
export function buildServer(root, folder) {
  const threads = join(folder, "threads");
  mkdirSync(threads, { recursive: true });
  cpSync(join(root, "package.json"), join(threads, "package.json"));
  const sources = ["writer", "reader-thread"].map((name) =>
    join(root, "src/store/sqlite", `${name}.ts`),
  );
  const target = ["--target=bun", "--format=cjs", "--bytecode"];
  const places = [`--root=${join(root, "src")}`, `--outdir=${threads}`];
  runBun(root, ["build", ...target, ...places, ...sources]);
  runBun(root, ["scripts/executables.js", "--out", folder, "here"]);
}

function runBun(root, args) {
  const bun = join(root, "node_modules/.bin/bun");
  const { status, stderr } = spawnSync(bun, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`the server cannot be built: ${stderr}`);
}
