// Builds dist/ for both packages: the same modules as the sources, as JavaScript with their types.
// `client` builds the client's alone. The server's has the console, the bundle, and the packed client for `restante new`.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const client = join(root, "client");
const dist = join(root, "dist");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

if (process.argv[2] === "client") buildClient();
else if (!isBuilt()) {
  buildClient();
  buildServer();
}

/** Whether no source is newer than the file that is written last. */
function isBuilt() {
  const built = timeOf(join(dist, `restante-client-${version}.tgz`));
  const paths = ["src", "client", "console", "scripts"].flatMap((folder) =>
    ["", ...readdirSync(join(root, folder), { recursive: true })].map((name) =>
      join(root, folder, name),
    ),
  );
  const others = ["package.json", "package-lock.json"].map((name) => join(root, name));
  return [...paths, ...others].every((path) => timeOf(path) < built);
}

function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function buildClient() {
  rmSync(join(client, "dist"), { recursive: true, force: true });
  tool("tsc", "-p", "client/tsconfig.build.json");
}

function buildServer() {
  // A server that runs goes on: the scripts replace the first three folders at once. The others are not from here.
  const kept = ["bun", "node", "console", "release", "site"];
  for (const name of existsSync(dist) ? readdirSync(dist) : [])
    if (!kept.includes(name)) rmSync(join(dist, name), { recursive: true });
  tool("tsc", "-p", "tsconfig.build.json");
  tool("bun", "scripts/console.js");
  // The second one is for tests. The package leaves it out.
  tool("bun", "scripts/bundle.js", "node");
  // This file is nearer than the package.json of the package, so that `#runtime` is the built one.
  const runtime = { bun: "./runtime/bun.js", default: "./runtime/node.js" };
  const scope = { type: "module", imports: { "#runtime": runtime } };
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(scope, null, 2)}\n`);
  packClient("pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", dist);
}

function tool(name, ...args) {
  run(join(root, "node_modules/.bin", name), args, { cwd: root, stdio: "inherit" });
}

/** Runs npm in the folder of the client. */
function packClient(...args) {
  const cli = process.env.npm_execpath ?? "";
  const options = { cwd: client, stdio: ["ignore", "ignore", "inherit"] };
  if (basename(cli) === "npm-cli.js") run(process.execPath, [cli, ...args], options);
  else run("npm", args, options);
}

function run(program, args, options) {
  const { status } = spawnSync(program, args, { ...options, shell: process.platform === "win32" });
  if (status !== 0) process.exit(1);
}
