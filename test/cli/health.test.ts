// `restante health`: over plain HTTP and TLS, a server that is stopped, one that does not answer, and one that is not ready.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { certificateFolder, makeCertificate } from "../certificates.ts";
import { run, start } from "../process.ts";

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-health-"));
});
after(() => rm(cwd, { recursive: true, force: true }));

const health = (port: number, ...args: string[]) =>
  run(["health", "--port", String(port), ...args], { cwd });

describe("restante health", () => {
  it("is 0 while a server answers, also over TLS on every address, and then 1", async () => {
    const files = certificateFolder(makeCertificate({ name: "api.example.org" }));
    const running = await start(["--host", "0.0.0.0", ...files.flags], { cwd });
    const tls = ["--host", "0.0.0.0", ...files.flags];
    const ok = await health(running.port, ...tls);
    assert.deepEqual([ok.code, ok.stderr], [0, ""]);
    assert.equal(ok.stdout, `https://127.0.0.1:${running.port}/-/health: ok\n`);
    const ready = await health(running.port, "--ready", "--json", ...tls);
    const url = `https://127.0.0.1:${running.port}/-/ready`;
    assert.deepEqual(JSON.parse(ready.stdout), { url, status: 200, ok: true });
    const plain = await health(running.port);
    assert.equal(plain.code, 1);
    running.signal("SIGTERM");
    await running.ended;
    const stopped = await health(running.port, ...tls);
    assert.equal(stopped.code, 1);
    assert.match(
      stopped.stderr,
      /^https:.*no answer: .*Is it running, and with these settings\?$/m,
    );
    files.remove();
  });

  it("is 1 when a server is not ready, with the reason", async () => {
    const server = createHttpServer((_, response) => {
      response.writeHead(503).end('{"detail":"The disk is full."}');
    }).listen(0, "localhost");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const ended = await health(port, "--ready");
    assert.equal(ended.code, 1);
    assert.equal(ended.stderr, `http://localhost:${port}/-/ready: 503: The disk is full.\n`);
    server.close();
  });

  it("is 1 when nothing is answered in time, and 2 for a port that nobody knows", async () => {
    const silent = createServer().listen(0, "localhost");
    await once(silent, "listening");
    const ended = await health((silent.address() as AddressInfo).port);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /no answer/);
    silent.close();
    assert.equal((await health(0)).code, 2);
  });
});
