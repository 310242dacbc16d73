// The client as it is built, in other runtimes: Deno, Cloudflare's workerd, and workers of Chromium, Node and Bun; and its types without those of a browser.
// @runtimes only node

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { runCommand } from "../generators/tools.ts";
import { startApp } from "../http/app.ts";
import { findChromium, patienceMs, startChromium } from "../http/chromium.ts";
import { expected, type Given } from "./scenario.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tool = (name: string) => join(root, "node_modules/.bin", name);
const skip = "bun" in process.versions && "once is enough: it runs under Node";

/** Fetched from npm for this test, because each is larger than the rest of the project. */
const runtimes = ["deno@2.9.6", "workerd@1.20261104.1"];

/** How each runtime gets the address and the token, and says what came of it. */
const programs: Readonly<Record<string, string>> = {
  "deno.js":
    "const [base, token] = Deno.args;\nconsole.log(JSON.stringify(await run({ base, token })));",
  "thread.js":
    'import { parentPort, workerData } from "node:worker_threads";\nparentPort.postMessage(await run(workerData));',
  // As in a page without TLS.
  "web-worker.js":
    "Reflect.deleteProperty(Crypto.prototype, 'randomUUID');\nonmessage = async ({ data }) => postMessage(await run(data));",
  "workerd.js":
    "export default { fetch: async (request) => Response.json(await run(await request.json())) };",
};

/** Also in a page: starts the worker with what it is given. */
const inWorker = (given: Given) => `new Promise((resolve, reject) => {
  const worker = new Worker(new URL("./web-worker.js", location.href), { type: "module" });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = reject;
  worker.postMessage(${JSON.stringify(given)});
})`;

let folder: string;
before(async () => {
  if (skip) return;
  const { stripTypeScriptTypes } = await import("node:module");
  folder = await mkdtemp(join(tmpdir(), "restante-runtimes-"));
  const build = join(root, "client/tsconfig.build.json");
  await command(tool("tsc"), "-p", build, "--outDir", join(folder, "client"));
  const scenario = await readFile(new URL("scenario.ts", import.meta.url), "utf8");
  await writeFile(join(folder, "scenario.js"), stripTypeScriptTypes(scenario));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const head = `import * as restante from "./client/index.js";
import { useClient } from "./scenario.js";
const run = (given) => useClient(restante, given).catch((error) => \`\${error.stack}\`);
`;
  for (const [name, program] of Object.entries(programs))
    await writeFile(join(folder, name), head + program);
});
after(() => folder && rm(folder, { recursive: true }));

const command = (program: string, ...args: string[]) => runCommand({ program, args }, folder);

let installed: Promise<string | undefined> | undefined;

/** Why the runtimes cannot be installed; undefined when they are. */
const installRuntimes = () =>
  (installed ??= command("npm", "install", "--no-audit", "--no-fund", ...runtimes).then(
    () => undefined,
    (error: Error) => `npm cannot install ${runtimes.join(" and ")}: ${error.message}`,
  ));

/** Runs the scenario on a new server. */
async function check(use: (given: Given) => Promise<unknown>): Promise<void> {
  const app = await startApp();
  try {
    assert.deepEqual(await use({ base: app.url, token: app.admin }), expected);
    assert.equal(await app.total("products"), 2);
  } finally {
    await app.stop();
  }
}

describe("the built client works", { skip }, () => {
  it("in a thread of Node", () =>
    check(async (workerData) => {
      const [result] = await once(new Worker(join(folder, "thread.js"), { workerData }), "message");
      return result;
    }));

  it("in a worker of Bun", () =>
    check(async (given) => {
      const main = `const location = import.meta.url && { href: import.meta.url };
console.log(JSON.stringify(await ${inWorker(given)}));
process.exit();`;
      await writeFile(join(folder, "bun.js"), main);
      return JSON.parse(await command(tool("bun"), join(folder, "bun.js")));
    }));

  it("in Deno", async (test: TestContext) => {
    const reason = await installRuntimes();
    if (reason !== undefined) return test.skip(reason);
    await check(async ({ base, token }) => {
      const deno = join(folder, "node_modules/.bin/deno");
      const { host } = new URL(base);
      return JSON.parse(await command(deno, "run", `--allow-net=${host}`, "deno.js", base, token));
    });
  });

  it("in workerd", async (test: TestContext) => {
    const reason = await installRuntimes();
    if (reason !== undefined) return test.skip(reason);
    await writeFile(join(folder, "workerd.capnp"), await workerdConfig());
    const [child, url] = await startWorkerd();
    try {
      await check(async (given) => {
        const response = await fetch(url, { method: "POST", body: JSON.stringify(given) });
        return response.json();
      });
    } finally {
      child.kill();
      await once(child, "exit");
    }
  });

  const chromium = findChromium();
  it("in a worker of Chromium, from another origin", {
    skip: chromium === undefined && "chromium must be installed",
  }, async () => {
    const site = await serveFolder();
    const browser = await startChromium(chromium ?? "");
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(patienceMs);
      await page.goto(`${site.url}/index.html`);
      await check((given) => page.evaluate(inWorker(given)));
    } finally {
      await browser.close();
      site.close();
    }
  });
});

async function workerdConfig(): Promise<string> {
  const built = (await readdir(join(folder, "client"))).filter((name) => name.endsWith(".js"));
  const names = ["workerd.js", "scenario.js", ...built.map((name) => `client/${name}`)];
  const modules = names.map((name) => `(name = "${name}", esModule = embed "${name}")`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [${modules.join(", ")}], compatibilityDate = "2026-11-01")),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
}

/** It writes its port to the fourth descriptor. */
async function startWorkerd(): Promise<[ChildProcess, string]> {
  const program = join(folder, "node_modules/.bin/workerd");
  const child = spawn(program, ["serve", "workerd.capnp", "--control-fd=3"], {
    ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe", "pipe"] },
  });
  const failed = text(child.stderr as Readable);
  for await (const chunk of child.stdio[3] as Readable) {
    const port = /"port":\s*(\d+)/.exec(`${chunk}`)?.[1];
    if (port !== undefined) return [child, `http://127.0.0.1:${port}`];
  }
  throw new Error(`workerd ended: ${await failed}`);
}

/** The files as a site of its own. */
async function serveFolder() {
  const server = createServer(async (request, response) => {
    const name = request.url ?? "";
    const isPage = name === "/index.html";
    const body = isPage ? "<!doctype html>" : await readFile(join(folder, name)).catch(() => "");
    response.setHeader("content-type", isPage ? "text/html" : "text/javascript").end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

describe("the types of the built client", { skip }, () => {
  const program = `import { Client, Conflict, etagOf } from "./client/index.js";
const products = new Client("http://localhost").collection("products");
const { data } = await products.list({ where: { price: { lt: 10 } } });
for (const one of data) console.log(etagOf(one) satisfies string | undefined);
await products.file("1", "photo").put(new Blob(["bytes"]), { onProgress: () => undefined });
export { Conflict };
`;

  for (const [name, flags] of Object.entries({
    "those of a worker": ["--lib", "esnext,webworker", "--types", ""],
    "those of Node": [
      ...["--lib", "esnext", "--types", "node"],
      ...["--typeRoots", join(root, "node_modules/@types")],
    ],
  }))
    it(`need only ${name}`, async () => {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, "types.ts"), program);
      const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false"];
      const modules = ["--target", "esnext", "--module", "nodenext"];
      const all = ["--noEmit", "--ignoreConfig", ...strict, ...modules, ...flags, "types.ts"];
      assert.equal(await command(tool("tsc"), ...all), "");
    });
});
