// PUT /{collection}/{id}: creates or replaces, never merges.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

const limitBytes = 16_384;

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ maxBodyBytes: limitBytes });
  client = new Client(app);
  await app.post("people", { name: "Zoe" });
});
after(() => app.stop());

interface Made {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

describe("PUT", () => {
  it("creates with 201 and Location; replaces with 200", async () => {
    const made = await client.put("/people/ada", { name: "Ada", born: 1815 });
    assert.equal(made.status, 201);
    assert.equal(made.headers.get("location"), "/people/ada");
    assert.equal(made.headers.get("content-location"), "/people/ada");
    const first: Made = JSON.parse(made.body);
    assert.deepEqual(Object.keys(first), ["id", "name", "born", "createdAt", "updatedAt"]);
    assert.equal(first.id, "ada");

    const replaced = await client.put("/people/ada", { name: "Ada" });
    assert.equal(replaced.status, 200);
    assert.equal(replaced.headers.get("location"), null);
    assert.equal(replaced.headers.get("content-location"), "/people/ada");
    const second: Made = JSON.parse(replaced.body);
    assert.equal(second.createdAt, first.createdAt);
    assert.ok(second.updatedAt >= first.updatedAt);
    assert.equal((await client.get("/people/ada")).body, replaced.body);
  });

  it("replaces the whole resource: omitted fields are removed", async () => {
    await client.put("/people/whole", { a: 1, b: { c: 2, d: 3 } });
    await client.put("/people/whole", { b: { c: 4 } });
    const { id, createdAt, updatedAt, ...rest } = await client.json<Made>("/people/whole");
    assert.deepEqual(rest, { b: { c: 4 } });
    await client.put("/people/whole", {});
    assert.deepEqual(Object.keys(await client.json<Made>("/people/whole")), [
      "id",
      "createdAt",
      "updatedAt",
    ]);
  });

  it("returns no validators, because what is stored is not exactly what was sent", async () => {
    for (const status of [201, 200]) {
      const answer = await client.put("/people/plain", { n: status });
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get("etag"), null);
      assert.equal(answer.headers.get("last-modified"), null);
      assert.equal(answer.headers.get("cache-control"), "no-store");
    }
  });

  it("that must create, among others at once: one creates, and the others change nothing", async () => {
    for (let round = 0; round < 5; round++) {
      const path = `/people/created-once-${round}`;
      const answers = await concurrently(6, (n) =>
        client.put(path, { n }, { "if-none-match": "*" }),
      );
      const created = answers.filter(({ status }) => status === 201);
      assert.equal(created.length, 1);
      assert.equal(answers.filter(({ status }) => status === 412).length, 5);
      assert.equal((await client.get(path)).body, created[0]?.body);
    }
  });

  it("while the definition changes is judged by the rules that are stored with it", async () => {
    for (const [round, turn] of [0, 0, 4, 4].entries()) {
      const name = `redefined-${round}`;
      await client.put(`/-/collections/${name}`, {});
      const schema = { required: ["n"] };
      const all = await concurrently(9, (index) =>
        index === turn
          ? client.put(`/-/collections/${name}`, { schema })
          : client.put(`/${name}/r${index}`, {}),
      );
      const [defined] = all.slice(turn);
      const answers = all.toSpliced(turn, 1);
      for (const { status } of answers) assert.ok(status === 201 || status === 400);
      // What was stored before the definition is reported by it, and nothing is stored after it.
      const stored = answers.filter(({ status }) => status === 201).length;
      assert.equal(JSON.parse(defined?.body ?? "").violations.count, stored);
      assert.equal(await app.total(name), stored);
    }
  });

  it("is idempotent: a repetition leaves the same representation except for its time", async () => {
    const fields = { n: 1.5, list: [1, { a: null }] };
    await client.put("/people/again", fields);
    const first = await client.json<Made>("/people/again");
    const total = await app.total("people");
    await client.put("/people/again", fields);
    const second = await client.json<Made>("/people/again");
    assert.deepEqual({ ...second, updatedAt: 0 }, { ...first, updatedAt: 0 });
    assert.equal(await app.total("people"), total);
  });

  it("keeps its position in the order of creation when it replaces", async () => {
    for (const id of ["c", "a", "b"]) await client.put(`/order/${id}`, { n: 1 });
    await client.put("/order/c", { n: 2 });
    const { data } = await client.json<{ data: Made[] }>("/order");
    assert.deepEqual(
      data.map(({ id }) => id),
      ["c", "a", "b"],
    );
  });

  it("stores the client's text: literals, escapes, order", async () => {
    const text = '{"10":1.0,"\\u0061":"\\/\\u00e9","9":-0,"n":1E2}';
    await client.put("/people/text", ` ${text} `);
    const { body } = await client.get("/people/text");
    assert.ok(body.startsWith(`{"id":"text",${text.slice(1, -1)},"createdAt":`), body);
  });

  it("accepts the result of a GET: the server's members are ignored", async () => {
    await client.put("/people/back", { a: 1 });
    const { body } = await client.get("/people/back");
    assert.equal((await client.put("/people/back", body)).status, 200);
    const stale = { id: "back", createdAt: "1999-01-01T00:00:00.000Z", updatedAt: 5, a: 2 };
    assert.equal((await client.put("/people/back", stale)).status, 200);
    const now = await client.json<Made & { a: number }>("/people/back");
    assert.equal(now.a, 2);
    assert.equal(now.createdAt, JSON.parse(body).createdAt);
  });

  for (const id of ["other", "Twin", "", null, 5, ["twin"]]) {
    it(`is 409 for a body whose id is ${JSON.stringify(id)}, not that of the URL`, async () => {
      await client.put("/people/twin", { a: 1 });
      const problem = await client.rejects("people", "conflict", () =>
        client.put("/people/twin", { id, a: 2 }),
      );
      assert.deepEqual(pointersOf(problem), ["/id"]);
      await client.rejects("people", "conflict", () => client.put("/people/new-twin", { id }));
    });
  }

  it("of a part is 400", async () => {
    await client.put("/people/part", { a: 1 });
    const range = { "content-range": "bytes 0-3/10" };
    for (const path of ["/people/part", "/people/new-part"])
      await client.rejects("people", "malformed-request", () => client.put(path, {}, range));
  });

  const wrongTypes = [
    "text/plain",
    "image/png",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/json; charset=latin1",
  ];
  for (const type of wrongTypes) {
    it(`of ${type} is 415 with the supported types`, async () => {
      const ask = () => client.put("/people/typed", "{}", { "content-type": type });
      await client.rejects("people", "unsupported-media-type", ask);
      assert.equal((await ask()).headers.get("accept"), "application/json, multipart/form-data");
    });
  }

  it("of another JSON type is accepted as JSON, and the type is not stored", async () => {
    const type = { "content-type": "application/vnd.people+json; charset=utf-8" };
    assert.equal((await client.put("/people/vendor", '{"a":1}', type)).status, 201);
    const { headers } = await client.get("/people/vendor");
    assert.equal(headers.get("content-type"), "application/json");
  });

  const badIds = [
    "-a",
    ".a",
    "_a",
    "~a",
    "a b",
    "a+b",
    "ä",
    "a%2Fb",
    "a%00",
    "a:b",
    "a".repeat(129),
  ];
  for (const id of badIds) {
    it(`to the id ${id.slice(0, 20)} is 400`, async () => {
      const path = `/people/${id.includes("%") ? id : encodeURIComponent(id)}`;
      const problem = await client.rejects("people", "invalid-parameter", () =>
        client.put(path, { a: 1 }),
      );
      assert.deepEqual(pointersOf(problem), ["id"]);
    });
  }

  it("to an id that is not valid is rejected before a body is asked for", async () => {
    const head = [
      ...["PUT /people/-a HTTP/1.1", "Host: localhost", `Authorization: Bearer ${app.admin}`],
      ...["Content-Type: application/json", "Content-Length: 9", "Expect: 100-continue"],
    ];
    const { responses } = await send(app.port, `${head.join("\r\n")}\r\n\r\n`);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [400],
    );
  });

  const goodIds = ["0", "a.b_c~d-e", "a".repeat(128), "constructor", "A", "a"];
  for (const id of goodIds) {
    it(`accepts the id ${id.slice(0, 20)}`, async () => {
      assert.equal((await client.put(`/ids/${id}`, { own: id })).status, 201);
      assert.equal((await client.json<{ own: string }>(`/ids/${id}`)).own, id);
    });
  }

  it("has one address, also when it is percent-encoded", async () => {
    const made = await client.put("/people/%61%62", { a: 1 });
    assert.equal(made.headers.get("location"), "/people/ab");
    const again = await client.put("/people/a%62", { a: 2 });
    assert.equal(again.status, 200);
    assert.equal(again.headers.get("content-location"), "/people/ab");
    assert.equal(
      (await client.patch("/people/a%62", {})).headers.get("content-location"),
      "/people/ab",
    );
  });

  const badBodies: readonly [title: string, body: string, pointers: readonly string[]][] = [
    ["nothing", "", [""]],
    ["an array", "[]", [""]],
    ["null", "null", [""]],
    ["half of one", '{"a":', [""]],
    [
      "several faults",
      '{"a":12345678901234567890,"b":1,"b":2,"__proto__":1}',
      ["/a", "/b", "/__proto__"],
    ],
    ["a deep nest", `{"a":${"[".repeat(64)}${"]".repeat(64)}}`, [`/a${"/0".repeat(63)}`]],
  ];
  for (const [title, body, pointers] of badBodies) {
    it(`of ${title} is 400, with every error`, async () => {
      await client.put("/people/kept", { a: 1 });
      for (const path of ["/people/kept", "/people/not-made"]) {
        const problem = await client.rejects("people", "invalid-body", () =>
          client.put(path, body),
        );
        assert.deepEqual(pointersOf(problem), pointers);
      }
    });
  }

  it("of a large body is 413, also without a length", async () => {
    const large = `{"a":"${"x".repeat(limitBytes)}"}`;
    await client.rejects("people", "content-too-large", () => client.put("/people/large", large));
    const before = await client.state("people");
    const head = `PUT /people/large HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${app.admin}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunk = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`;
    const { responses } = await send(app.port, [head, chunk]);
    assert.equal(responses[0]?.status, 413);
    assert.deepEqual(await client.state("people"), before);
  });

  it("is 406 where JSON is not acceptable, and 400 with a parameter", async () => {
    const accept = { accept: "text/html" };
    await client.rejects("people", "not-acceptable", () => client.put("/people/x", {}, accept));
    await client.rejects("people", "invalid-parameter", () => client.put("/people/x?a=1", {}));
  });

  it("needs a unique field at a collection; PATCH and DELETE are not allowed there, nor POST at a resource", async () => {
    await client.put("/people/here", {});
    for (const [method, path, allow] of [
      ["DELETE", "/people", "GET, HEAD, POST, PUT, QUERY, OPTIONS"],
      ["PATCH", "/people", "GET, HEAD, POST, PUT, QUERY, OPTIONS"],
      ["POST", "/people/here", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"],
    ] as const) {
      const response = await app.request(path, { method });
      assert.equal(response.status, 405, `${method} ${path}`);
      assert.equal(response.headers.get("allow"), allow);
    }
  });
});

describe("PUT to a collection that does not exist", () => {
  it("by an admin creates it", async () => {
    assert.equal((await client.put("/fresh/a", { n: 1 })).status, 201);
    assert.equal(await app.total("fresh"), 1);
  });

  it("by anyone else is 404, and creates nothing", async () => {
    const other = new Client(app, await app.token("*:*"));
    await client.rejects("never", "not-found", () => other.put("/never/a", {}));
    assert.equal((await client.get("/never")).status, 404);
  });

  it("with If-Match is 412, and creates nothing", async () => {
    await client.rejects("never", "precondition-failed", () =>
      client.put("/never/a", {}, { "if-match": "*" }),
    );
    assert.equal((await client.get("/never")).status, 404);
  });

  it("by many clients at once creates it once, and loses nothing", async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await concurrently(24, (index) =>
        index % 2 === 0
          ? client.put(
              `/rush-${round}/id-${index}`,
              { index },
              index % 4 === 0 ? { "if-none-match": "*" } : {},
            )
          : client.post(`/rush-${round}`, { index }),
      );
      for (const { status, body } of answers) assert.equal(status, 201, body);
      assert.equal(await app.total(`rush-${round}`), 24);
    }
  });
});

describe("scopes for PUT", () => {
  const conditions: readonly Readonly<Record<string, string>>[] = [
    {},
    { "if-match": "*" },
    { "if-none-match": "*" },
  ];

  it("create alone allows to create and not to replace", async () => {
    const creator = new Client(app, await app.token("people:create"));
    assert.equal((await creator.put("/people/by-creator", { a: 1 })).status, 201);
    for (const condition of conditions) {
      await client.rejects("people", "insufficient-scope", () =>
        creator.put("/people/by-creator", { a: 2 }, condition),
      );
    }
    const { headers } = await creator.put("/people/by-creator", { a: 2 });
    assert.match(
      headers.get("www-authenticate") ?? "",
      /error="insufficient_scope", scope="people:update"/,
    );
  });

  it("update alone allows to replace and not to create", async () => {
    const updater = new Client(app, await app.token("people:update"));
    await client.put("/people/for-updater", { a: 1 });
    assert.equal((await updater.put("/people/for-updater", { a: 2 })).status, 204);
    for (const condition of conditions) {
      await client.rejects("people", "insufficient-scope", () =>
        updater.put("/people/not-by-updater", {}, condition),
      );
    }
    const { headers } = await updater.put("/people/not-by-updater", {});
    assert.match(headers.get("www-authenticate") ?? "", /scope="people:create"/);
  });

  it("without either it is 403, whether the resource exists or not", async () => {
    await client.put("/people/there", {});
    const reader = new Client(app, await app.token("people:read", "people:delete", "other:*"));
    for (const path of ["/people/there", "/people/not-there", "/no-such-collection/a"])
      assertProblem(await reader.put(path, {}), "insufficient-scope");
  });

  it("without a token it is 401 before anything else is checked", async () => {
    const response = await app.request("/people/-bad-?x=1", {
      method: "PUT",
      token: null,
      body: "nonsense",
    });
    assert.equal(response.status, 401);
  });

  it("create without update, by many clients for one id, creates one resource", async () => {
    const creator = new Client(app, await app.token("people:create", "people:read"));
    for (let round = 0; round < 5; round++) {
      const path = `/people/raced-${round}`;
      const answers = await concurrently(16, (index) => creator.put(path, { index }));
      const made = answers.filter(({ status }) => status === 201);
      assert.equal(made.length, 1);
      for (const answer of answers)
        if (answer.status !== 201) assertProblem(answer, "insufficient-scope");
      assert.equal((await client.get(path)).body, made[0]?.body);
    }
  });
});
