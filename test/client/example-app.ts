// Builds an example with the packed package, as a new user does, and serves it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const quiet = ["--loglevel=error", "--no-audit", "--no-fund"];

export interface ExampleApp {
  readonly url: string;
  stop(): Promise<void>;
}

/** Returns why it cannot be tested when the registry is out of reach. */
export async function startExample(name: string, api: string): Promise<ExampleApp | string> {
  const folder = await mkdtemp(join(tmpdir(), `restante-${name}-`));
  await cp(join(root, "examples", name), folder, { recursive: true });
  const reason = await install(folder);
  if (reason !== undefined) return reason;
  const env = { ...process.env, VITE_API: api };
  for (const args of [["tsc"], ["vite", "build", "--logLevel", "error"]]) {
    const [program = "", ...rest] = args;
    const bin = join(folder, "node_modules/.bin", program);
    const built = spawnSync(process.execPath, [bin, ...rest], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    assert.equal(built.status, 0, `${args.join(" ")}: ${built.stdout}${built.stderr}`);
  }
  return serve(folder);
}

async function install(folder: string): Promise<string | undefined> {
  const packed = npm(root, ["pack", "--pack-destination", folder, ...quiet]);
  assert.equal(packed.status, 0, packed.stdout + packed.stderr);
  const file = join(folder, "package.json");
  const { dependencies, ...rest } = JSON.parse(await readFile(file, "utf8"));
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  assert.equal(dependencies.restante, version, "an example has the version of the package");
  const own = { ...dependencies, restante: `file:./restante-${version}.tgz` };
  await writeFile(file, JSON.stringify({ ...rest, dependencies: own }));
  const installed = npm(folder, ["install", "--no-package-lock", ...quiet]);
  if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENOTCACHED/.test(installed.stderr))
    return "THE NPM REGISTRY IS OUT OF REACH: the example was not tested";
  assert.equal(installed.status, 0, installed.stderr);
  return undefined;
}

function npm(cwd: string, args: readonly string[]) {
  const cli = process.env.npm_execpath;
  const [program, first] = cli === undefined ? ["npm", []] : [process.execPath, [cli]];
  return spawnSync(program, [...first, ...args], { cwd, encoding: "utf8" });
}

const types: Readonly<Record<string, string>> = {
  ...{ ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" },
};

async function serve(folder: string): Promise<ExampleApp> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    const path = pathname === "/" ? "/index.html" : pathname;
    const bytes = await readFile(join(folder, "dist", path)).catch(() => undefined);
    const type = types[extname(path)] ?? "application/octet-stream";
    response.writeHead(bytes === undefined ? 404 : 200, { "Content-Type": type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
