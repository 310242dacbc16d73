// Preconditions of changes (RFC 9110 §13): checked in the same transaction as the write.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { send } from "../runtime/raw-connection.ts";
import { runs } from "../seeds.ts";
import { passTurns } from "../turns-of.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp();
  client = new Client(app);
});
after(() => app.stop());

type Fields = Readonly<Record<string, string>>;

/** Every way to change a resource. Each must evaluate a precondition in the same way. */
const changes: Readonly<Record<string, (path: string, condition: Fields) => Promise<Answer>>> = {
  PUT: (path, condition) => client.put(path, { changed: true }, condition),
  PATCH: (path, condition) => client.patch(path, { changed: true }, condition),
  "JSON PATCH": (path, condition) =>
    client.jsonPatch(path, [{ op: "add", path: "/changed", value: true }], condition),
  DELETE: (path, condition) => client.remove(path, condition),
};

const shifted = (date: string, seconds: number): string =>
  new Date(Date.parse(date) + seconds * 1000).toUTCString();

for (const [method, change] of Object.entries(changes)) {
  describe(`a precondition of ${method}`, () => {
    const path = `/people/${method.toLowerCase().replace(" ", "-")}`;

    async function prepare(): Promise<{ etag: string; date: string }> {
      await client.put(path, { changed: false });
      const { headers } = await client.get(path);
      return { etag: headers.get("etag") ?? "", date: headers.get("last-modified") ?? "" };
    }

    const holds = async (condition: Fields) => {
      const { status, body } = await change(path, condition);
      assert.ok(status === 200 || status === 204, `${status} ${body}`);
    };
    const fails = (condition: Fields) =>
      client.rejects("people", "precondition-failed", () => change(path, condition));

    it("If-Match: the ETag, one of several, or any", async () => {
      for (const field of [
        (etag: string) => etag,
        (etag: string) => `"x", ${etag}`,
        (etag: string) => `W/"y" , ${etag},"a,b"`,
        (etag: string) => `,${etag}`,
        () => "*",
      ]) {
        const { etag } = await prepare();
        await holds({ "if-match": field(etag) });
      }
    });

    it("If-Match: an old, weak or malformed ETag does not match", async () => {
      const { etag: stale } = await prepare();
      const { etag } = await prepare();
      assert.notEqual(etag, stale);
      for (const field of [
        stale,
        `W/${etag}`,
        `${etag.slice(0, -1)},x"`,
        '"*"',
        '""',
        `"x", W/${etag}`,
      ])
        await fails({ "if-match": field });
    });

    it("is 400 when no ETags can be parsed, because 412 would mean that the resource has changed", async () => {
      const { etag } = await prepare();
      for (const name of ["if-match", "if-none-match"])
        for (const field of [
          ...["", ",", "abc", "*, *", `*, ${etag}`, etag.slice(1, -1), etag.slice(0, -1)],
          ...[`w/${etag}`, `x${etag}`, `${etag}x`, `${etag} ${etag}`, `${etag}${etag}`, "W/"],
        ])
          await client.rejects("people", "malformed-request", () =>
            change(path, { [name]: field }),
          );
    });

    it("If-None-Match: fails for an existing resource, with weak comparison", async () => {
      const { etag } = await prepare();
      for (const field of ["*", etag, `W/${etag}`, `"x", ${etag}`])
        await fails({ "if-none-match": field });
    });

    it("If-None-Match: succeeds for another ETag", async () => {
      const { etag: stale } = await prepare();
      for (const field of [stale, '"x"', '"*"']) {
        await prepare();
        await holds({ "if-none-match": field });
      }
    });

    it("If-Unmodified-Since: fails for a date before the last change", async () => {
      const { date } = await prepare();
      await fails({ "if-unmodified-since": shifted(date, -1) });
      await fails({ "if-unmodified-since": "Sunday, 06-Nov-94 08:49:37 GMT" });
      await fails({ "if-unmodified-since": "Sun Nov  6 08:49:37 1994" });
    });

    it("If-Unmodified-Since: succeeds from the last change on, and when it is not a date", async () => {
      for (const seconds of [0, 60]) {
        const fresh = `${path}-${seconds}`;
        await client.put(fresh, { changed: false });
        const date = (await client.get(fresh)).headers.get("last-modified") ?? "";
        const { status } = await change(fresh, { "if-unmodified-since": shifted(date, seconds) });
        assert.ok(status === 200 || status === 204, `${status}`);
      }
      for (const date of ["yesterday", "0", "Sun, 31 Feb 1994 08:49:37 GMT"]) {
        await prepare();
        await holds({ "if-unmodified-since": date });
      }
    });

    it("If-Unmodified-Since: fails when the same second has another state", async () => {
      for (let date = "", last = ""; ; last = date) {
        ({ date } = await prepare());
        if (date !== last) continue;
        await fails({ "if-unmodified-since": date });
        await fails({ "if-unmodified-since": shifted(date, 60) });
        return;
      }
    });

    it("If-Match overrides If-Unmodified-Since", async () => {
      const { etag, date } = await prepare();
      await fails({ "if-match": '"x"', "if-unmodified-since": shifted(date, 60) });
      await holds({ "if-match": etag, "if-unmodified-since": shifted(date, -60) });
    });

    it("all that apply must succeed", async () => {
      const { etag, date } = await prepare();
      await fails({ "if-match": etag, "if-none-match": etag });
      await fails({ "if-match": "*", "if-none-match": "*" });
      await fails({ "if-match": '"x"', "if-none-match": '"y"' });
      await fails({ "if-unmodified-since": shifted(date, -60), "if-none-match": '"y"' });
      await fails({ "if-unmodified-since": shifted(date, 60), "if-none-match": etag });
      await holds({ "if-match": etag, "if-none-match": '"y"' });
    });

    it("If-Modified-Since and If-Range are ignored", async () => {
      const { date } = await prepare();
      await holds({ "if-modified-since": shifted(date, 60), "if-range": '"x"' });
    });

    it("does not matter before 401, 403, 404, 415 and the like", async () => {
      const { etag } = await prepare();
      const reader = await app.token("people:read");
      const verb = method.split(" ").at(-1) ?? "";
      for (const condition of [{ "if-match": '"x"' }, { "if-match": etag }]) {
        const ask = (target: string, token: string | null, more: Fields = {}) =>
          app.request(target, { method: verb, token, headers: { ...condition, ...more } });
        assert.equal((await ask(path, null)).status, 401);
        assert.equal((await ask(path, reader)).status, 403);
        assert.equal((await ask(`${path}?a=1`, app.admin)).status, 400);
        if (method !== "PUT") assert.equal((await ask("/people/nobody", app.admin)).status, 404);
        if (method !== "DELETE") {
          const type = { "content-type": "text/plain" };
          assert.equal(
            (
              await app.request(path, {
                method: verb,
                headers: { ...condition, ...type },
                body: "x",
              })
            ).status,
            415,
          );
        }
      }
      assert.equal(await client.tag(path), etag);
    });

    it("the same If-Match by many clients at once: one succeeds, the others are 412", async () => {
      for (let round = 0; round < 5; round++) {
        const { etag } = await prepare();
        const answers = await concurrently(8, () => change(path, { "if-match": etag }));
        const done = answers.filter(({ status }) => status === 200 || status === 204);
        assert.equal(done.length, 1);
        for (const answer of answers) {
          if (done.includes(answer)) continue;
          // What is deleted meanwhile is not there, with or without a condition.
          assertProblem(
            answer,
            answer.status === 404 && method === "DELETE" ? "not-found" : "precondition-failed",
          );
        }
      }
    });
  });
}

describe("a precondition on a missing resource", () => {
  it("If-Match is 412 for PUT, and creates nothing", async () => {
    for (const field of ["*", '"x"'])
      await client.rejects("people", "precondition-failed", () =>
        client.put("/people/absent", {}, { "if-match": field }),
      );
  });

  it("is 404 for PATCH and DELETE, whatever it is", async () => {
    for (const condition of [
      { "if-match": "*" },
      { "if-match": '"x"' },
      { "if-none-match": "*" },
      { "if-unmodified-since": "Sun, 06 Nov 1994 08:49:37 GMT" },
    ] as Fields[]) {
      await client.rejects("people", "not-found", () =>
        client.patch("/people/absent", {}, condition),
      );
      await client.rejects("people", "not-found", () => client.remove("/people/absent", condition));
    }
  });

  it("If-None-Match creates with PUT", async () => {
    for (const [index, field] of ["*", '"x"', '"x", W/"y"'].entries()) {
      const { status } = await client.put(`/people/new-${index}`, {}, { "if-none-match": field });
      assert.equal(status, 201);
    }
  });

  it("If-Unmodified-Since is ignored", async () => {
    const since = { "if-unmodified-since": "Sun, 06 Nov 1994 08:49:37 GMT" };
    assert.equal((await client.put("/people/new-since", {}, since)).status, 201);
  });

  it("If-None-Match: * by many clients at once: exactly one 201, the others 412", async () => {
    for (let round = 0; round < 10; round++) {
      const path = `/people/first-${round}`;
      const answers = await concurrently(round === 0 ? 2 : 8, (index) =>
        client.put(path, { index }, { "if-none-match": "*" }),
      );
      const made = answers.filter(({ status }) => status === 201);
      assert.equal(made.length, 1);
      for (const answer of answers)
        if (answer !== made[0]) assertProblem(answer, "precondition-failed");
      assert.equal((await client.get(path)).body, made[0]?.body);
    }
  });
});

describe("a precondition of GET and HEAD", () => {
  for (const path of ["/read-one/one", "/read-list", "/read-feed?since=0"]) {
    it(`on ${path}: 412 for another state, before 304`, async () => {
      const [, collection] = /^\/([a-z-]+)/.exec(path) ?? [];
      await client.put(`/${collection}/one`, { n: 1 });
      const { headers } = await client.get(path);
      const etag = headers.get("etag") ?? "";
      const date = headers.get("last-modified") ?? "";
      const judged: readonly [status: number, fields: Fields][] = [
        [412, { "if-match": '"x"' }],
        [412, { "if-match": `W/${etag}` }],
        [412, { "if-match": '"x"', "if-none-match": etag }],
        [412, { "if-match": '"x"', "if-unmodified-since": shifted(date, 60) }],
        [412, { "if-unmodified-since": shifted(date, -1) }],
        [412, { "if-unmodified-since": shifted(date, -1), "if-none-match": etag }],
        [304, { "if-match": etag, "if-none-match": etag }],
        [304, { "if-match": "*", "if-modified-since": date }],
        [200, { "if-match": etag }],
        [200, { "if-match": `"x", ${etag}`, "if-unmodified-since": shifted(date, -60) }],
        [200, { "if-unmodified-since": date }],
        [200, { "if-unmodified-since": "yesterday" }],
        [400, { "if-match": "" }],
        [400, { "if-match": "abc" }],
        [200, { "if-none-match": "" }],
        [200, { "if-none-match": "abc" }],
      ];
      for (const [status, fields] of judged) {
        const answer = await client.get(path, fields);
        assert.equal(answer.status, status, JSON.stringify(fields));
        if (status === 412) assertProblem(answer, "precondition-failed");
        const head = await app.request(path, { method: "HEAD", headers: fields });
        assert.equal(head.status, status);
      }
    });
  }

  it("is ignored for a missing resource", async () => {
    for (const path of ["/read-one/nobody", "/nowhere", "/nowhere?since=0"])
      assertProblem(await client.get(path, { "if-match": '"x"' }), "not-found");
  });
});

describe("preconditions elsewhere", () => {
  it("are ignored by OPTIONS", async () => {
    await client.putAndReadTag("/people/options", {});
    const headers = { "if-match": '"x"', "if-none-match": "*" };
    const response = await app.request("/people/options", { method: "OPTIONS", headers });
    assert.equal(response.status, 204);
  });

  it("on several lines are one list", async () => {
    const etag = await client.putAndReadTag("/people/lines", {});
    const head = (...fields: string[]) =>
      [
        "DELETE /people/lines HTTP/1.1",
        "Host: localhost",
        `Authorization: Bearer ${app.admin}`,
        ...fields,
      ].join("\r\n");
    const ask = async (...fields: string[]) =>
      (await send(app.port, `${head(...fields)}\r\n\r\n`)).responses[0]?.status;
    assert.equal(await ask('If-Match: "x"', 'If-Match: "y"'), 412);
    assert.equal(await ask('If-Match: "x"', `If-Match: ${etag}`), 204);
  });

  it("do not match an ETag of another resource, or of a deleted one with the same id", async () => {
    const other = await client.putAndReadTag("/people/one", { a: 1 });
    await client.putAndReadTag("/people/two", { a: 1 });
    const former = await client.putAndReadTag("/people/former", { a: 1 });
    await client.remove("/people/former");
    await client.put("/people/former", { a: 1 });
    for (const [path, tag] of [
      ["/people/two", other],
      ["/people/former", former],
    ] as const)
      await client.rejects("people", "precondition-failed", () =>
        client.put(path, {}, { "if-match": tag }),
      );
  });
});

describe("a DELETE with If-Match", () => {
  it("among concurrent changes: removes the state that it names, or nothing", async () => {
    for (let round = 0; round < runs(8, 20); round++) {
      const path = `/people/doomed-${round}`;
      const tag = await client.putAndReadTag(path, { n: 0 });
      const [removed, ...patched] = await concurrently(7, async (index) => {
        if (index > 0) return client.patch(path, { [`m${index}`]: 1 });
        // So that now and then it comes while a change is on its way to the disk.
        await passTurns(round % 5);
        return client.remove(path, { "if-match": tag });
      });
      // After it there is nothing to change; before it, a change makes the tag stale.
      const isGone = removed?.status === 204;
      if (!isGone) assert.equal(removed?.status, 412);
      for (const { status } of patched) assert.equal(status, isGone ? 404 : 200);
      assert.equal((await client.get(path)).status, isGone ? 404 : 200);
    }
  });
});

describe("a counter", () => {
  /** Reads and writes until the tag read is the one replaced. */
  async function increment(path: string, write: "put" | "patch"): Promise<void> {
    for (;;) {
      const { headers, body } = await client.get(path);
      const { n }: { n: number } = JSON.parse(body);
      const condition = { "if-match": headers.get("etag") ?? "" };
      const { status } = await client[write](path, { n: n + 1 }, condition);
      if (status === 200) return;
      assert.equal(status, 412);
    }
  }

  it("of many clients at once, by PUT and by PATCH with If-Match, loses no increment", async () => {
    const clients = runs(24, 64);
    await client.putAndReadTag("/counters/one", { n: 0 });
    await concurrently(clients, (index) =>
      increment("/counters/one", index % 2 === 0 ? "put" : "patch"),
    );
    assert.equal((await client.json<{ n: number }>("/counters/one")).n, clients);
  });
});
