// What a server remembers of requests: no part of a header section keeps the whole of it in memory.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openConnection } from "../runtime/raw-connection.ts";

import { startApp, type TestApp } from "./app.ts";

const count = 400;
const sectionBytes = 14_000;
const unused = `X-Unused: ${"u".repeat(sectionBytes)}`;

function collectGarbage(): void {
  if ("Bun" in globalThis) {
    Bun.gc(true);
    return;
  }
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/** Turns of the event loop in between let go what only the last requests have. */
async function heapBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

describe("a large header section is not kept", () => {
  let app: TestApp;
  let secrets: readonly string[];

  before(async () => {
    app = await startApp({ trustProxy: ["127.0.0.1"], rateLimitPerAddress: 1_000_000 });
    const init = { method: "PUT", headers: { "content-type": "application/json" } };
    const body = JSON.stringify({ access: { read: "public" } });
    assert.equal((await app.request("/-/collections/things", { ...init, body })).status, 201);
    assert.equal((await app.request("/things/a", { ...init, body: "{}" })).status, 201);
    secrets = await Promise.all(Array.from({ length: count }, () => app.token("things:read")));
  });
  after(() => app.stop());

  const requests: Readonly<Record<string, (n: number) => readonly string[]>> = {
    "with the URL and Accept of a resource": (n) => [
      `/things/a?fields=f${n}`,
      `Accept: */*, a/b${n}`,
    ],
    "with the URL and Accept of a page": (n) => [`/things?page=${n + 1}`, `Accept: */*, a/b${n}`],
    "with the token of a caller": (n) => ["/things/a", `Authorization: Bearer ${secrets[n]}`],
    "with a large If-None-Match": (n) => [
      `/things/a?fields=f${n}`,
      `If-None-Match: "${n}${"t".repeat(sectionBytes)}"`,
      "X-Unused: none",
    ],
    "with the address of a client": (n) => [
      "/things/a",
      `X-Forwarded-For: 10.0.${n >> 8}.${n & 255}`,
    ],
  };

  for (const [title, partsOf] of Object.entries(requests))
    it(title, async () => {
      const connection = await openConnection(app.port);
      const first = await heapBytes();
      for (let n = 0; n < count; n++) {
        const [path, field, rest = unused] = partsOf(n);
        connection.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${field}\r\n${rest}\r\n\r\n`);
        assert.equal((await connection.response())?.status, 200);
      }
      const kept = ((await heapBytes()) - first) / count;
      connection.destroy();
      assert.ok(kept < sectionBytes / 2, `${Math.round(kept)} bytes of each request are kept`);
    });
});
