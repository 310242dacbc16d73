// Builds dist/ for the package: the same modules as src/, as JavaScript with their types.

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const tsc = join(root, "node_modules/.bin/tsc");
for (const project of ["tsconfig.build.json", "client/tsconfig.build.json"]) {
  const { status } = spawnSync(tsc, ["-p", project], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

const bun = join(root, "node_modules/.bin/bun");
for (const script of ["scripts/console.js", "scripts/bundle.js"]) {
  const { status } = spawnSync(bun, [join(root, script)], { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

// This file is nearer than the package.json of the package, so that `#runtime` is the built one.
const runtime = { bun: "./runtime/bun.js", default: "./runtime/node.js" };
const scope = { type: "module", imports: { "#runtime": runtime } };
writeFileSync(join(dist, "package.json"), `${JSON.stringify(scope, null, 2)}\n`);
