// A server process with HTTP/2: the semantics of HTTP hold over it, on one connection and in all workers.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../src/model/token.ts";
import { certificateFolder, makeCertificate } from "./certificates.ts";
import { type Http2Client, openHttp2 } from "./http2-client.ts";
import { run, type ServerProcess, start } from "./process.ts";

const patience = { timeout: 60_000 };
const secret = newSecret();
const authorized = { authorization: `Bearer ${secret}` };
const json = { ...authorized, "content-type": "application/json" };

let cwd: string;
let running: ServerProcess;
let client: Http2Client;
const files = certificateFolder(makeCertificate());
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-http2-"));
  const limits = ["--max-body-bytes", "1000", "--allowed-hosts", "localhost"];
  running = await start(["--workers", "2", "--http2", "on", ...files.flags, ...limits], {
    cwd,
    environment: { RESTANTE_ADMIN_TOKEN: secret },
  });
  client = await openHttp2(running.port);
});
after(async () => {
  client.session.destroy();
  running.signal("SIGTERM");
  await running.ended;
  files.remove();
  await rm(cwd, { recursive: true, force: true });
});

const create = (fields: unknown) =>
  client.request("/people", { method: "POST", headers: json, body: JSON.stringify(fields) });

describe("HTTP/2", () => {
  it("needs TLS", patience, async () => {
    const ended = await run(["serve", "--http2", "on"], { cwd });
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /--http2: needs TLS: set --tls-cert and --tls-key/);
  });

  it("creates, reads, compares and describes resources", patience, async () => {
    const created = await create({ name: "Ada" });
    assert.equal(created.status, 201);
    const path = String(created.headers.location);
    assert.match(path, /^\/people\//);
    const got = await client.request(path, { headers: authorized });
    assert.equal(JSON.parse(got.body).name, "Ada");
    const etag = String(got.headers.etag);
    const same = await client.request(path, { headers: { ...authorized, "if-none-match": etag } });
    assert.deepEqual([same.status, same.body], [304, ""]);
    const head = await client.request(path, { method: "HEAD", headers: authorized });
    assert.deepEqual([head.status, head.body, head.headers.etag], [200, "", etag]);
    assert.equal(Number(head.headers["content-length"]), Buffer.byteLength(got.body));
    const wrong = { ...json, "if-match": '"other"' };
    const refused = await client.request(path, { method: "PUT", headers: wrong, body: "{}" });
    assert.equal(refused.status, 412);
  });

  it("answers errors with problems", patience, async () => {
    const cases: readonly [number, string, Parameters<Http2Client["request"]>[1]?][] = [
      [401, "/people"],
      [404, "/people/none", { headers: authorized }],
      [405, "/people", { method: "DELETE", headers: authorized }],
      [400, "/people/%2e%2e/x", { headers: authorized }],
      [415, "/people", { method: "POST", headers: authorized, body: "x" }],
      [413, "/people", { method: "POST", headers: json, body: `{"a":"${"x".repeat(2_000)}"}` }],
      [421, "/people", { headers: { ...authorized, ":authority": "other.test" } }],
    ];
    for (const [status, path, options] of cases) {
      const response = await client.request(path, options);
      assert.equal(response.status, status, `${path}: ${response.body}`);
      assert.equal(response.headers["content-type"], "application/problem+json");
      assert.ok(response.headers["x-request-id"]);
    }
  });

  it("creates nothing when the client cancels in the middle of a body", patience, async () => {
    const before = await total();
    const headers = { ":method": "POST", ":path": "/people", ...json };
    const stream = client.session.request(headers);
    stream.on("error", () => undefined);
    stream.write('{"name":');
    stream.close(8);
    await once(stream, "close");
    assert.equal((await create({ name: "Next" })).status, 201);
    assert.equal(await total(), before + 1);
  });

  it("answers many requests of one connection", patience, async () => {
    const before = await total();
    const created = await Promise.all(Array.from({ length: 90 }, (_, n) => create({ n })));
    assert.deepEqual(new Set(created.map(({ status }) => status)), new Set([201]));
    assert.equal(await total(), before + 90);
  });
});

const total = async (): Promise<number> =>
  JSON.parse((await client.request("/people?limit=1", { headers: authorized })).body).total;
