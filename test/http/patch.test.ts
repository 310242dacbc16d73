// PATCH: merge patch and JSON Patch, applied completely or not at all, with a validated result.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { maxOperations } from "../../src/model/patch.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";

const limitBytes = 65_536;

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ maxBodyBytes: limitBytes });
  client = new Client(app);
});
after(() => app.stop());

interface Made {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The client's own members of a resource, as text. */
async function fieldsOf(path: string): Promise<string> {
  const { body } = await client.get(path);
  const [, fields] =
    /^\{"id":"[^"]*",?(.*?),?"createdAt":"[^"]*","updatedAt":"[^"]*"\}$/.exec(body) ?? [];
  return `{${fields}}`;
}

describe("PATCH with a merge patch", () => {
  it("merges, and returns 200 with the representation and its new ETag", async () => {
    const before = await client.putAndReadTag("/people/ada", {
      a: 1,
      b: { c: 2, d: [1, 2] },
      e: 3,
    });
    const made = await client.json<Made>("/people/ada");
    const patched = await client.patch("/people/ada", { a: null, b: { d: [3], f: {} }, g: "x" });
    assert.equal(patched.status, 200);
    assert.equal(patched.headers.get("content-location"), "/people/ada");
    assert.equal(patched.headers.get("cache-control"), "no-store");
    assert.notEqual(patched.headers.get("etag"), before);
    assert.equal(await fieldsOf("/people/ada"), '{"b":{"c":2,"d":[3],"f":{}},"e":3,"g":"x"}');
    const read = await client.get("/people/ada");
    assert.equal(read.body, patched.body);
    for (const name of ["etag", "last-modified"])
      assert.equal(read.headers.get(name), patched.headers.get(name), name);
    const now: Made = JSON.parse(read.body);
    assert.equal(now.createdAt, made.createdAt);
    assert.ok(now.updatedAt >= made.updatedAt);
  });

  it("may have the type application/json", async () => {
    await client.putAndReadTag("/people/plain", { a: 1, b: 2 });
    const type = { "content-type": "application/json; charset=utf-8" };
    assert.equal((await client.patch("/people/plain", { a: null }, type)).status, 200);
    assert.equal(await fieldsOf("/people/plain"), '{"b":2}');
  });

  it("keeps what it does not name byte for byte: literals, escapes, names, order", async () => {
    const text =
      '{"10":1.0,"\\u0061":"\\/\\u00e9","9":-0,"n":{"\\u0062":1E2,"l":[1.50,"\\u0041"]}}';
    await client.putAndReadTag("/people/exact", text);
    assert.equal((await client.patch("/people/exact", {})).status, 200);
    assert.equal(await fieldsOf("/people/exact"), text);
    await client.patch("/people/exact", '{ "n" : { "new" : 2.50 } }');
    assert.equal(
      await fieldsOf("/people/exact"),
      text.replace('"\\u0041"]', '"\\u0041"],"new":2.50'),
    );
  });

  for (const patch of ["[]", "null", '"x"', "5", "[1]"]) {
    it(`that is ${patch} would replace the whole document: 400`, async () => {
      await client.putAndReadTag("/people/object", { a: 1 });
      const problem = await client.rejects("people", "invalid-body", () =>
        client.patch("/people/object", patch),
      );
      assert.deepEqual(pointersOf(problem), [""]);
    });
  }

  it("ignores the server's members, and rejects another id", async () => {
    await client.putAndReadTag("/people/own", { a: 1 });
    const { createdAt } = await client.json<Made>("/people/own");
    for (const own of [{ id: "own" }, { id: null }, { createdAt: 1, updatedAt: null }]) {
      const { status, body } = await client.patch("/people/own", own);
      assert.equal(status, 200, body);
      assert.equal(JSON.parse(body).id, "own");
      assert.equal(JSON.parse(body).createdAt, createdAt);
    }
    for (const id of ["other", 5, {}]) {
      const problem = await client.rejects("people", "conflict", () =>
        client.patch("/people/own", { id }),
      );
      assert.deepEqual(pointersOf(problem), ["/id"]);
    }
  });
});

describe("PATCH with a JSON Patch", () => {
  it("supports all six operations, with -, ~0 and ~1", async () => {
    await client.putAndReadTag("/people/six", {
      list: [1, 2],
      "a/b": 1,
      "m~n": 2,
      gone: true,
      from: { x: 1 },
    });
    const patched = await client.jsonPatch("/people/six", [
      { op: "test", path: "/list/0", value: 1.0 },
      { op: "add", path: "/list/-", value: 3 },
      { op: "add", path: "/list/0", value: 0 },
      { op: "replace", path: "/a~1b", value: "slash" },
      { op: "replace", path: "/m~0n", value: "tilde" },
      { op: "remove", path: "/gone" },
      { op: "copy", from: "/from", path: "/copy" },
      { op: "move", from: "/from", path: "/to" },
    ]);
    assert.equal(patched.status, 200, patched.body);
    assert.equal(
      await fieldsOf("/people/six"),
      '{"list":[0,1,2,3],"a/b":"slash","m~n":"tilde","copy":{"x":1},"to":{"x":1}}',
    );
  });

  it("applies to the representation: id and times can be tested", async () => {
    await client.putAndReadTag("/people/seen", { a: 1 });
    const { updatedAt } = await client.json<Made>("/people/seen");
    const operations = [
      { op: "test", path: "/id", value: "seen" },
      { op: "test", path: "/updatedAt", value: updatedAt },
      { op: "add", path: "/b", value: 2 },
      { op: "remove", path: "/createdAt" },
      { op: "remove", path: "/id" },
    ];
    const { status, body } = await client.jsonPatch("/people/seen", operations);
    assert.equal(status, 200, body);
    assert.equal(await fieldsOf("/people/seen"), '{"a":1,"b":2}');
  });

  it("may replace the whole document, but not the id", async () => {
    await client.putAndReadTag("/people/root", { a: 1 });
    const replace = (value: unknown) =>
      client.jsonPatch("/people/root", [{ op: "replace", path: "", value }]);
    assert.equal((await replace({ b: 2 })).status, 200);
    assert.equal(await fieldsOf("/people/root"), '{"b":2}');
    await client.rejects("people", "conflict", () => replace({ id: "other" }));
    await client.rejects("people", "invalid-body", () => replace([1]));
  });

  const unfit: readonly [title: string, last: unknown][] = [
    ["a test that fails", { op: "test", path: "/a", value: 2 }],
    ["a place that is not there", { op: "remove", path: "/nowhere" }],
    ["an index past the end", { op: "add", path: "/list/9", value: 1 }],
    ["a prototype", { op: "add", path: "/__proto__/x", value: 1 }],
    ["a constructor", { op: "test", path: "/constructor/name", value: "Object" }],
  ];
  for (const [title, last] of unfit) {
    it(`whose third operation is ${title} changes nothing: 409`, async () => {
      await client.putAndReadTag("/people/atom", { a: 1, list: [1] });
      const problem = await client.rejects("people", "conflict", () =>
        client.jsonPatch("/people/atom", [
          { op: "replace", path: "/a", value: 1 },
          { op: "add", path: "/b", value: 2 },
          last,
          { op: "remove", path: "/a" },
        ]),
      );
      assert.deepEqual(pointersOf(problem), ["/2"]);
      assert.equal(await fieldsOf("/people/atom"), '{"a":1,"list":[1]}');
    });
  }

  const malformed: readonly [patch: string, pointers: readonly string[]][] = [
    ["{}", [""]],
    ['{"op":"remove","path":"/a"}', [""]],
    ["[{}]", ["/0/path", "/0/op"]],
    ['[{"op":"remove","path":"/a"},{"op":"add","path":"a"}]', ["/1/path", "/1/value"]],
    ['[{"op":"add","path":"/a","value":1,"op":"remove"}]', ["/0/op"]],
    ['[{"op":"add","path":"/a","value":12345678901234567890}]', ["/0/value"]],
    ["[", [""]],
    ["", [""]],
  ];
  for (const [patch, pointers] of malformed) {
    it(`that is ${patch === "" ? "empty" : patch} is 400`, async () => {
      await client.putAndReadTag("/people/form", { a: 1 });
      const problem = await client.rejects("people", "invalid-body", () =>
        client.jsonPatch("/people/form", patch),
      );
      assert.deepEqual(pointersOf(problem), pointers);
    });
  }
});

describe("a patched result that exceeds the limits", () => {
  it("with a forbidden name is 400", async () => {
    await client.putAndReadTag("/people/proto", { a: {} });
    for (const path of ["/__proto__", "/a/__proto__"]) {
      const problem = await client.rejects("people", "invalid-body", () =>
        client.jsonPatch("/people/proto", [{ op: "add", path, value: { polluted: 1 } }]),
      );
      assert.deepEqual(pointersOf(problem), [path]);
    }
    await client.rejects("people", "invalid-body", () =>
      client.patch("/people/proto", '{"a":{"__proto__":{"polluted":1}}}'),
    );
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it("is 400 when it is too deep, and accepted at the limit", async () => {
    const nest = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    await client.putAndReadTag("/people/deep", { a: nest(40) });
    const add = (depth: number) =>
      client.jsonPatch("/people/deep", [
        { op: "add", path: `/a${"/0".repeat(39)}/-`, value: nest(depth) },
      ]);
    await client.rejects("people", "invalid-body", () => add(24));
    assert.equal((await add(23)).status, 200);
  });

  it("is 400 when it has too many members, and accepted at the limit", async () => {
    const members = (count: number, prefix: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]));
    await client.putAndReadTag("/people/wide", members(999, "a"));
    assert.equal((await client.patch("/people/wide", { last: 1 })).status, 200);
    assert.equal((await client.patch("/people/wide", { last: 2 })).status, 200);
    await client.rejects("people", "invalid-body", () => client.patch("/people/wide", { more: 1 }));
    assert.equal((await client.patch("/people/wide", { last: null, more: 1 })).status, 200);
  });

  it("is 400 when it is too large, as for PUT", async () => {
    const text = (bytes: number) => "é".repeat(bytes / 2);
    await client.putAndReadTag("/people/large", { a: text(40_000) });
    const problem = await client.rejects("people", "invalid-body", () =>
      client.patch("/people/large", { b: text(30_000) }),
    );
    assert.match(problem.errors?.[0]?.detail ?? "", /65536 bytes/);
    assert.equal((await client.patch("/people/large", { b: text(20_000) })).status, 200);
    // At the very limit, a change that does not grow it passes.
    const full = limitBytes - '{"a":""}'.length;
    await client.putAndReadTag("/people/full", { a: "x".repeat(full) });
    assert.equal((await client.patch("/people/full", { a: "y".repeat(full) })).status, 200);
    await client.rejects("people", "invalid-body", () => client.patch("/people/full", { b: 1 }));
  });

  const bombs: Readonly<Record<string, readonly unknown[]>> = {
    "copies the document into itself": Array(50).fill({ op: "copy", from: "", path: "/a" }),
    "copies a list into itself": Array(50).fill({ op: "copy", from: "/list", path: "/list/-" }),
    "copies what is large": Array.from({ length: 50 }, (_, index) => ({
      op: "copy",
      from: "/text",
      path: `/t${index}`,
    })),
    "nests by copies": Array.from({ length: 12 }, (_, index) => ({
      op: "copy",
      from: "/n",
      path: `/n${"/n".repeat(2 ** index)}`,
    })),
  };
  for (const [title, operations] of Object.entries(bombs)) {
    it(`is 400 quickly when a patch ${title}`, async () => {
      await client.putAndReadTag("/people/bomb", {
        list: [1],
        text: "x".repeat(5_000),
        n: { n: {} },
      });
      await client.rejects("people", "invalid-body", () =>
        client.jsonPatch("/people/bomb", operations),
      );
    });
  }

  it("is 400 for too many operations", async () => {
    await client.putAndReadTag("/people/many", { a: 1 });
    await client.rejects("people", "invalid-body", () =>
      client.jsonPatch("/people/many", Array(maxOperations + 1).fill({ op: "remove", path: "/a" })),
    );
  });
});

describe("PATCH", () => {
  const wrongTypes = ["text/plain", "application/xml", "application/vnd.people+json", ""];
  for (const type of wrongTypes) {
    it(`of ${type || "no type"} is 415 with the supported types`, async () => {
      await client.putAndReadTag("/people/typed", { a: 1 });
      const ask = () => client.patch("/people/typed", "{}", { "content-type": type });
      await client.rejects("people", "unsupported-media-type", ask);
      assert.equal(
        (await ask()).headers.get("accept-patch"),
        "application/merge-patch+json, application/json-patch+json, application/vnd.restante.operations+json, application/json, multipart/form-data",
      );
    });
  }

  it("lists its types in OPTIONS", async () => {
    const response = await app.request("/people/typed", { method: "OPTIONS", token: null });
    assert.match(response.headers.get("accept-patch") ?? "", /merge-patch\+json, .*json-patch/);
  });

  it("of a missing resource is 404, whatever the patch is", async () => {
    for (const path of ["/people/nobody", "/people/-bad-", "/nowhere/nobody"]) {
      await client.rejects("people", "not-found", () => client.patch(path, { a: 1 }));
      await client.rejects("people", "not-found", () =>
        client.patch(path, "nonsense", { "content-type": "text/plain", "if-match": "*" }),
      );
    }
    assert.equal((await client.get("/nowhere")).status, 404);
  });

  it("is 413 for a large body, 406 where JSON is not acceptable, 400 with a parameter", async () => {
    await client.putAndReadTag("/people/door", { a: 1 });
    const large = { a: "x".repeat(limitBytes) };
    await client.rejects("people", "content-too-large", () => client.patch("/people/door", large));
    await client.rejects("people", "not-acceptable", () =>
      client.patch("/people/door", {}, { accept: "text/html" }),
    );
    await client.rejects("people", "invalid-parameter", () => client.patch("/people/door?a=1", {}));
  });

  it("needs the scope to update", async () => {
    await client.putAndReadTag("/people/scoped", { a: 1 });
    const others = new Client(
      app,
      await app.token("people:read", "people:create", "people:delete"),
    );
    for (const path of ["/people/scoped", "/people/nobody"])
      await client.rejects("people", "insufficient-scope", () => others.patch(path, { a: 2 }));
    const updater = new Client(app, await app.token("people:update"));
    assert.equal((await updater.patch("/people/scoped", { a: 2 })).status, 204);
  });

  it("without If-Match by 32 clients at once on different members: all succeed", async () => {
    for (const kind of ["patch", "jsonPatch"] as const) {
      const path = `/people/crowd-${kind}`;
      await client.putAndReadTag(path, { n: {} });
      const answers = await concurrently(32, (index) =>
        kind === "patch"
          ? client.patch(path, { n: { [`m${index}`]: index } })
          : client.jsonPatch(path, [{ op: "add", path: `/n/m${index}`, value: index }]),
      );
      for (const { status, body } of answers) assert.equal(status, 200, body);
      assert.equal(new Set(answers.map(({ headers }) => headers.get("etag"))).size, 32);
      const { n } = await client.json<{ n: Record<string, number> }>(path);
      const all = Object.fromEntries(
        Array.from({ length: 32 }, (_, index) => [`m${index}`, index]),
      );
      assert.deepEqual(n, all);
    }
  });

  it("by many clients at once that test and count: none is lost, each is applied once", async () => {
    await client.putAndReadTag("/people/log", { log: [] });
    const clients = 16;
    await concurrently(clients, async (index) => {
      for (let turn = 0; turn < 3; turn++) {
        const value = index * 10 + turn;
        const { status } = await client.jsonPatch("/people/log", [
          { op: "add", path: "/log/-", value },
        ]);
        assert.equal(status, 200);
      }
    });
    const { log } = await client.json<{ log: number[] }>("/people/log");
    assert.equal(log.length, clients * 3);
    assert.equal(new Set(log).size, clients * 3);
    // Each client's own are in its order.
    for (let index = 0; index < clients; index++) {
      const own = log.filter((value) => Math.floor(value / 10) === index);
      assert.deepEqual(own, [index * 10, index * 10 + 1, index * 10 + 2]);
    }
  });
});
