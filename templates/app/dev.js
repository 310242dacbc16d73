// Starts the server on ./data, and Vite, which passes /api on to it: npm run dev

import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

const restante = "node_modules/restante/bin/restante.js";
const vite = "node_modules/vite/bin/vite.js";
const isNew = !existsSync("data");
/** The level of such lines in the log. */
const warning = 40;

const flags = ["--data", "data", "--collections", "collections", "--log-format", "json"];
const server = spawn(process.execPath, [restante, "serve", "--watch", ...flags], {
  stdio: ["ignore", "pipe", "inherit"],
});
server.on("exit", (code) => process.exit(process.exitCode ?? code ?? 1));
process.on("exit", () => server.kill());

const url = await new Promise((resolve) => {
  createInterface(server.stdout).on("line", (line) => {
    const { level, msg, url, collection } = JSON.parse(line);
    if (msg === "listening") resolve(url);
    if (msg === "defined") console.log(`The definition of ${collection} is applied.`);
    if (level >= warning) console.error(line);
  });
});

if (isNew) run("import", "--data", "data", "--collection", "products", "samples/products.ndjson");

// It may read and write resources, is valid for a day, and stays on this side: the browser never sees it.
const rights = ["--name", "npm run dev", "--scope", "*:*", "--expires", "1d"];
const token = run("token", "create", "--data", "data", ...rights);

console.log(`\n  The server is at ${url}, and its console at ${url}/-/console`);
console.log("  Sign in there with the token in data/admin-token.");

const env = { ...process.env, DEV_SERVER: url, DEV_TOKEN: token };
const pages = spawn(process.execPath, [vite, ...process.argv.slice(2)], { stdio: "inherit", env });
pages.on("exit", (code) => {
  process.exitCode = code ?? 0;
  server.kill();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => pages.kill());

function run(...command) {
  const output = execFileSync(process.execPath, [restante, ...command], { stdio: "pipe" });
  return String(output).trim();
}
