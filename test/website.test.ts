// A server with a website, as a process: its ports, workers and checks at the start.
// @runtimes both

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { checkPublic } from "../src/server/check-public.ts";
import { defaultConfig } from "../src/server/config.ts";
import { createLog } from "../src/server/log.ts";
import { certificateFolder, makeCertificate } from "./certificates.ts";
import { firstToken, run, start } from "./process.ts";
import { openTls } from "./tls-client.ts";

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-website-"));
  await mkdir(join(cwd, "dist/api"), { recursive: true });
  await writeFile(join(cwd, "dist/index.html"), "home");
});
after(() => rm(cwd, { recursive: true, force: true }));

const consoleUrlIn = (log: string): string => /"console":"([^"]+)"/.exec(log)?.[1] ?? "";

describe("a server with a website", () => {
  for (const [title, flags] of [
    ["one process", []],
    ["two workers", ["--workers", "2"]],
  ] as const)
    it(`of ${title} serves it beside the API, and the console on its own port`, async () => {
      const ports = [
        "--public",
        "dist",
        "--console-port",
        "0",
        "--base-url",
        "https://example.org",
      ];
      const server = await start(
        [...ports, "--allowed-hosts", "localhost", "--data", title, ...flags],
        { cwd },
      );
      const ask = async (url: string, headers: Record<string, string> = {}) => {
        const response = await fetch(url, { headers, redirect: "manual" });
        return { response, body: await response.text() };
      };
      assert.equal((await ask(server.url)).body, "home");
      assert.equal((await ask(`${server.url}/api/-/health`)).response.status, 200);
      assert.equal((await ask(`${server.url}/-/console`)).response.status, 404);
      assert.match(server.stdout(), /"msg":"this is not served as a part of the website/);

      const console = consoleUrlIn(server.stdout());
      const { origin, pathname } = new URL(console);
      assert.equal(pathname, "/-/console");
      const page = await ask(console);
      assert.match(
        page.response.headers.get("content-security-policy") ?? "",
        /connect-src 'self'/,
      );
      assert.match(page.body, /<script/);
      const home = await ask(origin, { accept: "text/html" });
      assert.equal(home.response.headers.get("location"), "/-/console");
      assert.equal((await ask(`${origin}/-/health`)).response.status, 200);
      // Its addresses are its own, whatever the public URL is.
      if (flags.length === 0) {
        const authorization = `Bearer ${firstToken(server)}`;
        const sent = { method: "POST", body: "{}" };
        const headers = { authorization, "content-type": "application/json" };
        const made = await fetch(`${origin}/people`, { ...sent, headers });
        assert.match(made.headers.get("location") ?? "", /^\/people\//);
        const same = `${server.url}/api${made.headers.get("location")}`;
        const found = await ask(same, { authorization });
        assert.equal(found.response.status, 200, found.body);
        const list = await ask(`${server.url}/api/people?limit=1`, { authorization });
        assert.match(
          list.response.headers.get("link") ?? "",
          /^<https:\/\/example\.org\/api\/people/,
        );
      }
      const health = ["health", "--port", String(server.port)];
      const healthy = await run([...health, "--public", "dist"], { cwd });
      assert.match(healthy.stdout, /\/api\/-\/health: ok/);
      assert.equal((await run(health, { cwd })).code, 1);
      server.signal("SIGTERM");
      assert.equal((await server.ended).code, 0);
      await assert.rejects(fetch(console));
    });

  it("serves both ports with TLS", async () => {
    const folder = certificateFolder(makeCertificate());
    const flags = ["--public", "dist", "--console-port", "0", "--data", "tls", ...folder.flags];
    const server = await start(flags, { cwd });
    const console = new URL(consoleUrlIn(server.stdout()));
    assert.equal(console.protocol, "https:");
    const connection = await openTls(Number(console.port));
    assert.equal((await connection.get("/-/console"))?.status, 200);
    connection.destroy();
    folder.remove();
    server.signal("SIGTERM");
    assert.equal((await server.ended).code, 0);
  });

  it("does not start when a port is taken", async () => {
    const other = await start(["--data", "other"], { cwd });
    const port = String(other.port);
    const { code, stderr } = await run(
      ["serve", "--port", "0", "--console-port", port, "--data", "more"],
      { cwd },
    );
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`console on port ${port} .* Choose another --console-port`));
    other.signal("SIGTERM");
    await other.ended;
  });
});

describe("the folder of a website", () => {
  it("must exist when the server starts", async () => {
    const { code, stderr } = await run(["serve", "--port", "0", "--public", "nowhere"], { cwd });
    assert.equal(code, 2);
    assert.match(stderr, /--public: there is no folder .*nowhere\. Build the website first/);
  });

  const check = (settings: Readonly<Record<string, string>>) => {
    const paths = Object.entries(settings).map(([name, path]) => [name, join(cwd, path)]);
    const config = { ...defaultConfig, data: join(cwd, "data"), ...Object.fromEntries(paths) };
    checkPublic(config, createLog("silent"));
  };

  it("must be a folder without anything private", async () => {
    await mkdir(join(cwd, "elsewhere"), { recursive: true });
    await symlink("../dist", join(cwd, "elsewhere/link"));
    check({ public: "dist" });
    check({ public: "elsewhere/link", backupTo: "dist-backups", tlsKey: "key.pem" });
    assert.throws(() => check({ public: "dist/index.html" }), /there is no folder/);
    for (const settings of [
      { public: "." },
      { public: "dist", data: "dist" },
      { public: "dist", data: "dist/new/data" },
      { public: "dist", data: "elsewhere/link/data" },
      { public: "elsewhere/link", backupTo: "dist/backups" },
      { public: "dist", files: "dist/files" },
      { public: "dist", tlsKey: "dist/key.pem" },
      { public: "dist", collections: "dist" },
      { public: "dist", actions: "dist/api" },
    ])
      assert.throws(() => check(settings), /must not contain .*: anyone may read its files/);
  });
});
