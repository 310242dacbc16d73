// Queries over large resources use bounded memory, however often they are asked.
// Needs Linux, because it reads the memory of a process.
// @process own
// @tier all

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { peakBytes } from "../memory.ts";
import { type ServerProcess, start } from "../process.ts";

const mebibyte = 1024 * 1024;
const count = 60;
const asked = 6;
/** Node has more in memory at its start, and frees late. */
const mostBytes = ("Bun" in globalThis ? 300 : 420) * mebibyte;

const secret = newSecret();
const admin = { authorization: `Bearer ${secret}` };
const json = { ...admin, "content-type": "application/json" };

/** The one with 400 is too large with what it refers to. */
const queries: readonly (readonly [path: string, status: number])[] = [
  ["/big?sort=-m&limit=29", 200],
  ["/big?expand=kind&limit=29&m[gte]=0", 400],
  ["/big?n[gt]=20&sort=m&limit=29", 200],
  ["/big?fields=n,text&sort=m&limit=29", 200],
];

describe("the memory of queries over resources of 1 MB", () => {
  let folder: string;
  let server: ServerProcess;

  const serve = async () => {
    const environment = { RESTANTE_ADMIN_TOKEN: secret };
    server = await start(["--data", "data", "--log-level", "info"], { cwd: folder, environment });
  };
  const stop = async () => {
    server.signal("SIGTERM");
    await server.ended;
  };
  const write = async (method: string, path: string, body: object) => {
    const init = { method, headers: json, body: JSON.stringify(body) };
    const response = await fetch(server.url + path, init);
    assert.ok(response.ok, await response.text());
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    await serve();
    await write("PUT", "/-/collections/kinds", {});
    const references = { kind: { collection: "kinds" } };
    const integer = { type: "integer" };
    const properties = {
      n: integer,
      m: integer,
      kind: { type: "string" },
      text: { type: "string" },
    };
    await write("PUT", "/-/collections/big", {
      schema: { properties },
      references,
      indexed: ["n"],
    });
    const text = "lorem ".repeat(165_000);
    for (let n = 0; n < 6; n++) await write("PUT", `/kinds/k${n}`, { text });
    for (let n = 0; n < count; n++)
      await write("PUT", `/big/b${n}`, { n, m: (n * 7) % count, kind: `k${n % 6}`, text });
    await write("PUT", "/-/collections/refs", { references: { big: { collection: "big" } } });
    for (let n = 0; n < 30; n++) await write("PUT", `/refs/r${n}`, { big: `b${n}` });
    await stop();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const assertBounded = async (path: string, status: number) => {
    await serve();
    try {
      for (let n = 0; n < asked; n++) {
        const response = await fetch(server.url + path, { headers: admin });
        assert.equal(response.status, status);
        await response.arrayBuffer();
      }
      const peak = await peakBytes(server.pid);
      assert.ok(peak < mostBytes, `${Math.round(peak / mebibyte)} MiB`);
    } finally {
      await stop();
    }
  };

  /** What they refer to counts from when it is found; each would hold it twice otherwise. */
  it("ten at once that expand 30 MB", async () => {
    await serve();
    try {
      const ask = async () => {
        const response = await fetch(`${server.url}/refs?expand=big&limit=30`, { headers: admin });
        await response.arrayBuffer();
        return response.status;
      };
      const statuses = await Promise.all(Array.from({ length: 10 }, ask));
      assert.deepEqual(new Set(statuses), new Set([200, 503]));
      const peak = await peakBytes(server.pid);
      assert.ok(peak < 600 * mebibyte, `${Math.round(peak / mebibyte)} MiB`);
    } finally {
      await stop();
    }
  });

  for (const [path, status] of queries) it(path, () => assertBounded(path, status));
});
