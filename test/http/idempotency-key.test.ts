// Idempotency-Key: a retry gets the first response, and nothing is done twice.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { operationsType } from "../../src/model/schemas/operations.ts";
import { withClockMoved } from "../clock.ts";
import { openConnection, send } from "../runtime/raw-connection.ts";
import { itLong } from "../short-run.ts";
import { passTurns } from "../turns-of.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";

const limitBytes = 16_384;

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ maxBodyBytes: limitBytes });
  client = new Client(app);
  await app.post("people", { name: "Zoe" });
});
after(() => app.stop());

/** A new key as its header field. */
const newKey = () => ({ "idempotency-key": `"${randomUUID()}"` });

const reported = ["location", "content-location", "etag", "last-modified", "content-type", "vary"];

/** Expects the same response as before, marked as a replay. */
function assertReplay(answer: Answer, first: Answer): void {
  assert.equal(answer.status, first.status, answer.body);
  assert.equal(answer.body, first.body);
  for (const name of reported)
    assert.equal(answer.headers.get(name), first.headers.get(name), name);
  assert.equal(answer.headers.get("idempotency-replayed"), "true");
}

function assertNew(answer: Answer): void {
  assert.equal(answer.status, 201, answer.body);
  assert.equal(answer.headers.get("idempotency-replayed"), null);
}

describe("POST with an Idempotency-Key", () => {
  it("works as without one", async () => {
    const total = await app.total("people");
    const made = await client.post("/people", { name: "Ada" }, newKey());
    assertNew(made);
    assert.equal((await client.get(made.headers.get("location") ?? "")).body, made.body);
    assertNew(await client.post("/people", { name: "Ada" }, newKey()));
    assertNew(await client.post("/people", { name: "Ada" }));
    assert.equal(await app.total("people"), total + 3);
  });

  it("again gets the first response, byte for byte, and creates nothing", async () => {
    const key = newKey();
    const body = '{ "n": 1.0, "\\u0061": "\\/☃" }';
    const first = await client.post("/people", body, key);
    assertNew(first);
    const before = await client.state("people");
    for (let time = 0; time < 3; time++)
      assertReplay(await client.post("/people", body, key), first);
    assert.deepEqual(await client.state("people"), before);
  });

  it("returns the first state, also when the resource has changed", async () => {
    const key = newKey();
    const first = await client.post("/people", { n: 1 }, key);
    const path = first.headers.get("location") ?? "";
    await client.put(path, { n: 2 });
    assertReplay(await client.post("/people", { n: 1 }, key), first);
    assert.equal((await client.json<{ n: number }>(path)).n, 2);
  });

  it("is 410 once the resource was deleted, reveals nothing of it, and creates nothing", async () => {
    const key = newKey();
    const body = { secret: "a deleted text" };
    const path = (await client.post("/people", body, key)).headers.get("location") ?? "";
    await client.remove(path);
    const before = await client.state("people");
    for (let time = 0; time < 2; time++) {
      const answer = await client.post("/people", body, key);
      assertProblem(answer, "gone");
      assert.equal(answer.headers.get("idempotency-replayed"), null);
      assert.ok(!answer.body.includes("deleted text"));
    }
    assert.deepEqual(await client.state("people"), before);
    assertNew(await client.post("/people", body, newKey()));
  });

  it("with Prefer: return=minimal is replayed that way", async () => {
    const fields = { ...newKey(), prefer: "return=minimal" };
    const first = await client.post("/people", { n: 1 }, fields);
    assert.equal(first.body, "");
    const again = await client.post("/people", { n: 1 }, fields);
    assertReplay(again, first);
    assert.equal(again.headers.get("preference-applied"), "return=minimal");
  });

  it("by 100 clients at once creates one resource; all get the same response", async () => {
    const total = await app.total("people");
    const key = newKey();
    const answers = await concurrently(100, () => client.post("/people", { name: "Ada" }, key));
    const first = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
    assert.equal(first.length, 1);
    for (const answer of answers) {
      assert.equal(answer.status, 201);
      assert.equal(answer.body, first[0]?.body);
      assert.equal(answer.headers.get("etag"), first[0]?.headers.get("etag"));
    }
    assert.equal(await app.total("people"), total + 1);
  });

  it("by many clients at once to a missing collection creates one resource", async () => {
    for (let round = 0; round < 5; round++) {
      const key = newKey();
      const answers = await concurrently(16, () => client.post(`/fresh-${round}`, { n: 1 }, key));
      for (const { status, body } of answers) {
        assert.equal(status, 201, body);
        assert.equal(body, answers[0]?.body);
      }
      assert.equal(await app.total(`fresh-${round}`), 1);
    }
  });

  it("with another payload is 422, and changes nothing", async () => {
    const key = newKey();
    const first = await client.post("/people", '{"n":1}', key);
    for (const body of ['{"n":2}', '{"n":1.0}', '{ "n":1}', '{"n":1,"m":2}', "{}"])
      await client.rejects("people", "key-reused", () => client.post("/people", body, key));
    assertReplay(await client.post("/people", '{"n":1}', key), first);
  });

  it("with another request to the same collection is 422, and creates nothing", async () => {
    const key = newKey();
    await client.post("/people", { n: 1 }, key);
    await client.rejects("people", "key-reused", () =>
      client.batch([{ method: "POST", path: "/people", body: { n: 1 } }], key),
    );
  });

  it("on another collection is a new key", async () => {
    const key = newKey();
    const first = await client.post("/people", { n: 1 }, key);
    for (const path of ["/pets", "/created-with-a-key"]) {
      const other = await client.post(path, { n: 1 }, key);
      assert.equal(other.status, 201, other.body);
      assert.equal(other.headers.get("idempotency-replayed"), null);
      assertReplay(await client.post(path, { n: 1 }, key), other);
    }
    assertReplay(await client.post("/people", { n: 1 }, key), first);
  });

  it("with two payloads at once: one succeeds, the other is 422", async () => {
    for (let round = 0; round < 5; round++) {
      const total = await app.total("people");
      const key = newKey();
      const answers = await concurrently(10, (index) =>
        client.post("/people", { n: index % 2 }, key),
      );
      const done = answers.find(
        ({ headers, status }) => status === 201 && !headers.has("idempotency-replayed"),
      );
      assert.ok(done !== undefined);
      for (const [index, answer] of answers.entries())
        if (index % 2 === JSON.parse(done.body).n) assert.equal(answer.body, done.body);
        else assertProblem(answer, "key-reused");
      assert.equal(await app.total("people"), total + 1);
    }
  });

  it("accepts a key with or without quotes, as the same key", async () => {
    const uuid = randomUUID();
    const first = await client.post("/people", {}, { "idempotency-key": `"${uuid}"` });
    assertNew(first);
    assertReplay(await client.post("/people", {}, { "idempotency-key": uuid }), first);
    const upper = uuid.toUpperCase();
    assertNew(await client.post("/people", {}, { "idempotency-key": `"${upper}"` }));
  });

  const goodKeys = [
    `"${"k".repeat(255)}"`,
    "b".repeat(255),
    '"a key, with; spaces = and \\"quotes\\" and \\\\"',
    '"x"',
    "pi_3Mtw-._~:/+=|{}",
  ];
  for (const key of goodKeys) {
    it(`accepts the key ${key.slice(0, 40)}`, async () => {
      const fields = { "idempotency-key": key };
      const first = await client.post("/people", { key }, fields);
      assertNew(first);
      assertReplay(await client.post("/people", { key }, fields), first);
    });
  }

  const badKeys: Readonly<Record<string, readonly string[]>> = {
    "an empty key": [""],
    "an empty string": ['""'],
    "a key of 256 characters": [`"${"k".repeat(256)}"`],
    "a bare key of 256 characters": ["k".repeat(256)],
    "a key that is not ASCII": ["schl\u00fcssel"],
    "a string that is not ASCII": ['"schl\u00fcssel"'],
    "a string without an end": ['"abc'],
    "a quote in a string": ['"a"b"'],
    "an escape that is none": ['"a\\b"'],
    "a bare key with a space": ["a b"],
    "a list": ['"a", "b"'],
    "a bare list": ["a,b"],
    "a field that comes twice": ['"a"', '"a"'],
    "two bare fields": ["a", "b"],
  };
  for (const [title, keys] of Object.entries(badKeys)) {
    it(`is 400 for ${title}`, async () => {
      const before = await client.state("people");
      const head = [
        "POST /people HTTP/1.1",
        "Host: localhost",
        `Authorization: Bearer ${app.admin}`,
        "Content-Type: application/json",
        "Content-Length: 2",
        ...keys.map((key) => `Idempotency-Key: ${key}`),
      ].join("\r\n");
      const { responses } = await send(app.port, Buffer.from(`${head}\r\n\r\n{}`, "latin1"));
      assert.equal(responses[0]?.status, 400);
      assert.match(responses[0]?.body ?? "", /Idempotency-Key must be one string/);
      assert.deepEqual(await client.state("people"), before);
    });
  }

  it("belongs to the caller: the same key of another token is another key", async () => {
    const one = new Client(app, await app.token("people:*"));
    const two = new Client(app, await app.token("people:*"));
    const key = newKey();
    const first = await one.post("/people", { n: 1 }, key);
    const second = await two.post("/people", { n: 2 }, key);
    assertNew(first);
    assertNew(second);
    assertReplay(await one.post("/people", { n: 1 }, key), first);
    assertReplay(await two.post("/people", { n: 2 }, key), second);
    await client.rejects("people", "key-reused", () => one.post("/people", { n: 2 }, key));
  });

  it("is not used up by a rejected request", async () => {
    const key = newKey();
    const rejections: readonly [status: number, ask: () => Promise<Answer>][] = [
      [400, () => client.post("/people", '{"a":1,"a":2}', key)],
      [400, () => client.post("/people", { id: "mine" }, key)],
      [400, () => client.post("/people?x=1", {}, key)],
      [401, () => new Client(app, "rst_wrong").post("/people", {}, key)],
      [406, () => client.post("/people", {}, { ...key, accept: "text/html" })],
      [413, () => client.post("/people", { a: "x".repeat(limitBytes) }, key)],
      [415, () => client.post("/people", "a", { ...key, "content-type": "text/json" })],
      [400, () => client.batch([{ method: "POST", path: "/people" }], key)],
      [404, () => client.batch([{ method: "DELETE", path: "/people/nobody" }], key)],
    ];
    const before = await client.state("people");
    for (const [status, ask] of rejections) assert.equal((await ask()).status, status);
    assert.deepEqual(await client.state("people"), before);
    const first = await client.post("/people", { a: 1 }, key);
    assertNew(first);
    assertReplay(await client.post("/people", { a: 1 }, key), first);
  });

  it("is not used up by 403 and 404", async () => {
    const other = new Client(app, await app.token("people:create", "later:*"));
    const key = newKey();
    assert.equal((await other.post("/pets", {}, key)).status, 403);
    assert.equal((await other.post("/later", {}, key)).status, 404);
    assertNew(await other.post("/people", {}, key));
  });

  it("never counts as new because a clock has jumped", async () => {
    const key = newKey();
    const first = await client.post("/people", { n: 1 }, key);
    const dayMs = 24 * 60 * 60 * 1000;
    const after = (ms: number, headers: Record<string, string>) =>
      withClockMoved(ms, () => client.post("/people", { n: 1 }, headers));
    for (const days of [7, 1, -10, 3_000, -1, 8, 0.5]) {
      // The clock is wrong while another key is used, too.
      const other = newKey();
      const made = await after(days * dayMs, other);
      assertNew(made);
      assert.equal((await after(days * dayMs + 1_000, key)).body, first.body);
      assertReplay(await after(0, key), first);
      assert.equal((await after(0, other)).body, made.body);
    }
  });

  it("does not apply to PUT and DELETE, which are idempotent", async () => {
    const key = newKey();
    assert.equal((await client.put("/people/keyed", { n: 1 }, key)).status, 201);
    assert.equal((await client.put("/people/keyed", { n: 2 }, key)).status, 200);
    assert.equal((await client.remove("/people/keyed", key)).status, 204);
    assertNew(await client.post("/people", { n: 1 }, key));
  });
});

describe("a lost response", () => {
  it("on connections closed at any moment: a retry never creates a second resource", async () => {
    await client.put("/lost/seed", {});
    const keys = await concurrently(60, async (index) => {
      const key = newKey();
      const body = JSON.stringify({ index });
      const wire = await openConnection(app.port);
      wire.write(
        `POST /lost HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.admin}\r\nContent-Type: application/json\r\nIdempotency-Key: ${key["idempotency-key"]}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, index % 3 === 0 ? 4 : body.length)}`,
      );
      await passTurns(index % 10);
      if (index % 2 === 0) wire.reset();
      else wire.destroy();
      return key;
    });
    const answers = await concurrently(60, (index) => client.post("/lost", { index }, keys[index]));
    for (const { status, body } of answers) assert.equal(status, 201, body);
    const { data, total } = await client.json<{ data: { index?: number }[]; total: number }>(
      "/lost?limit=1000",
    );
    assert.equal(total, 61);
    assert.equal(new Set(data.map(({ index }) => index)).size, 61);
  });
});

describe("a batch with an Idempotency-Key", () => {
  it("again gets the first response, byte for byte, and changes nothing", async () => {
    const tag = await client.putAndReadTag("/people/patched", { n: 1 });
    await client.put("/people/gone", {});
    const operations = [
      { method: "POST", path: "/people", body: { n: 1 } },
      { method: "PUT", path: "/people/made", body: { n: 1 }, ifNoneMatch: "*" },
      { method: "PATCH", path: "/people/patched", body: { n: 2 }, ifMatch: tag },
      { method: "DELETE", path: "/people/gone" },
    ];
    const key = newKey();
    const first = await client.batch(operations, key);
    assert.equal(first.status, 200, first.body);
    assert.equal(first.headers.get("idempotency-replayed"), null);
    const before = await client.state("people");
    // None of its preconditions holds any more.
    assertReplay(await client.batch(operations, key), first);
    assert.deepEqual(await client.state("people"), before);
    await client.remove("/people/patched");
    assertProblem(await client.batch(operations, key), "gone");
    const failed = await client.batch(operations);
    assert.equal(failed.status, 412, failed.body);
  });

  it("by many clients at once is executed once; all get the same response", async () => {
    for (let round = 0; round < 5; round++) {
      const key = newKey();
      const operations = [
        { method: "PUT", path: `/once/first-${round}`, body: {}, ifNoneMatch: "*" },
        { method: "POST", path: "/once", body: { round } },
      ];
      const answers = await concurrently(16, () => client.batch(operations, key));
      for (const { status, body } of answers) {
        assert.equal(status, 200, body);
        assert.equal(body, answers[0]?.body);
      }
      const first = answers.filter(({ headers }) => !headers.has("idempotency-replayed"));
      assert.equal(first.length, 1);
      assert.equal(await app.total("once"), 2 * (round + 1));
    }
  });

  it("with other operations is 422, also when they are invalid", async () => {
    const key = newKey();
    await client.batch([{ method: "PUT", path: "/people/x1", body: {} }], key);
    for (const operation of [
      { method: "PUT", path: "/people/x2", body: {} },
      { method: "DELETE", path: "/people/nobody" },
    ])
      await client.rejects("people", "key-reused", () => client.batch([operation], key));
  });

  it("that was rejected does not use up the key", async () => {
    const key = newKey();
    const operations = [{ method: "PATCH", path: "/people/late", body: { n: 2 } }];
    await client.rejects("people", "not-found", () => client.batch(operations, key));
    await client.put("/people/late", { n: 1 });
    const first = await client.batch(operations, key);
    assert.equal(first.headers.get("idempotency-replayed"), null);
    assertReplay(await client.batch(operations, key), first);
  });
});

describe("a server that is killed", () => {
  const patience = { timeout: 300_000 };
  let folder: string;
  let daemon: ServerProcess | undefined;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
  });
  after(async () => {
    await daemon?.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  const operations = { "content-type": operationsType };

  interface Wish {
    readonly key: Readonly<Record<string, string>>;
    readonly n: number;
  }

  const ask = (server: Client, { key, n }: Wish): Promise<Answer> =>
    n % 4 === 0
      ? server.batch(
          [
            { method: "POST", path: "/people", body: { n } },
            { method: "PUT", path: `/marks/m${n}`, body: { n }, ifNoneMatch: "*" },
          ],
          key,
        )
      : n % 4 === 1
        ? server.patch("/counters/all", { increment: { n: 1 } }, { ...operations, ...key })
        : server.post("/people", { n }, key);

  itLong(
    "with kill -9 at any moment: after a restart a retry is never executed twice",
    patience,
    async () => {
      /** The request, and its response if there was one. */
      const wishes = new Map<Wish, Answer | undefined>();
      for (let kill = 0; kill < 2; kill++) {
        daemon = await startServerProcess(folder);
        const server = new Client(daemon);
        if (kill === 0) await server.put("/counters/all", { n: 0 });
        const enough = wishes.size + 80;
        let isKilled = false;
        const postMany = async (): Promise<void> => {
          while (!isKilled) {
            const wish: Wish = { key: newKey(), n: wishes.size };
            wishes.set(wish, undefined);
            const answer = await ask(server, wish).catch(() => undefined);
            if (answer === undefined) return;
            wishes.set(wish, answer);
          }
        };
        const written = Promise.all(Array.from({ length: 12 }, postMany));
        while (wishes.size < enough) await sleep(2);
        await daemon.end("SIGKILL");
        isKilled = true;
        await written;
      }
      daemon = await startServerProcess(folder);
      const server = new Client(daemon);
      for (const [wish, answer] of wishes) {
        const again = await ask(server, wish);
        assert.ok(again.status === 200 || again.status === 201, again.body);
        if (answer !== undefined) assertReplay(again, answer);
        assertReplay(await ask(server, wish), again);
      }
      const seen = new Map<number, number>();
      for (let page = 1; ; page++) {
        const path = `/people?limit=500&page=${page}`;
        const { data } = await server.json<{ data: { n: number }[] }>(path);
        if (data.length === 0) break;
        for (const { n } of data) seen.set(n, (seen.get(n) ?? 0) + 1);
      }
      const increments = [...wishes.keys()].filter(({ n }) => n % 4 === 1).length;
      assert.equal((await server.json<{ n: number }>("/counters/all")).n, increments);
      assert.equal(seen.size, wishes.size - increments);
      for (const [n, count] of seen) assert.equal(count, 1, `${n} is there ${count} times`);
    },
  );
});

describe("POST /-/tokens with an Idempotency-Key", () => {
  const wish = { name: "backup", scopes: ["people:read", "places:read"], expiresAt: null };
  const tokens = async () =>
    (await client.json<{ data: { id: string }[] }>("/-/tokens")).data.map(({ id }) => id);

  it("creates one token, and never shows a secret for a repetition", async () => {
    const key = newKey();
    const before = await tokens();
    const first = await client.post("/-/tokens", wish, key);
    assert.equal(first.status, 201, first.body);
    const made = JSON.parse(first.body) as { id: string; token: string };
    assert.match(made.id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (const scopes of [wish.scopes, [...wish.scopes].reverse()]) {
      const again = await client.post("/-/tokens", { ...wish, scopes }, key);
      const { detail } = assertProblem(again, "conflict");
      assert.ok(detail.includes(made.id), detail);
      assert.ok(!again.body.includes("rst_"), again.body);
    }
    assert.deepEqual(await tokens(), [...before, made.id]);
    const reader = new Client(app, made.token);
    assert.equal((await reader.get("/people")).status, 200);

    await client.remove(`/-/tokens/${made.id}`);
    assertProblem(await client.post("/-/tokens", wish, key), "conflict");
    assertProblem(await reader.get("/people"), "unauthenticated");
  });

  it("creates one token for many requests at once", async () => {
    const key = newKey();
    const before = await tokens();
    const answers = await concurrently(10, () => client.post("/-/tokens", wish, key));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array(9).fill(409)]);
    assert.equal((await tokens()).length, before.length + 1);
  });

  it("rejects another request with the same key, and an invalid key", async () => {
    const key = newKey();
    await client.post("/-/tokens", wish, key);
    const before = await tokens();
    const others = [
      { name: "other" },
      { scopes: ["people:read"] },
      { expiresAt: "2090-01-01T00:00Z" },
    ];
    for (const other of others) {
      assertProblem(await client.post("/-/tokens", { ...wish, ...other }, key), "key-reused");
    }
    const bad = { "idempotency-key": '""' };
    assertProblem(await client.post("/-/tokens", wish, bad), "malformed-request");
    assert.deepEqual(await tokens(), before);
  });

  it("has separate keys for two callers", async () => {
    const key = newKey();
    const other = new Client(app, await app.token("admin"));
    assert.equal((await client.post("/-/tokens", wish, key)).status, 201);
    assert.equal((await other.post("/-/tokens", wish, key)).status, 201);
  });
});
