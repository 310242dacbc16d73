// Actions: permissions, input, results, deadlines, and access to resources.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { send } from "../runtime/raw-connection.ts";
import { itLong } from "../short-run.ts";
import { seen, steps } from "./actions/_ledger.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import type { Document } from "./openapi-document.ts";
import { lint } from "./openapi-lint.ts";

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const captured = captureLog();
let app: TestApp;
let admin: Client;
before(async () => {
  app = await startApp({ actions: folder("actions") }, captured.log);
  admin = new Client(app);
});
after(() => app.stop());

const run = (name: string, input: unknown = {}, client = admin) =>
  client.post(`/-/actions/${name}`, input);

const returned = ({ status, body }: Answer): unknown => {
  assert.equal(status, 200, body);
  return JSON.parse(body);
};

describe("permission to run an action", () => {
  it("is given by its scope, the scope of all actions, or admin", async () => {
    for (const scope of ["admin", "action:echo", "action:*"]) {
      const client = new Client(app, await app.token(scope));
      assert.equal((await run("echo", {}, client)).status, 200, scope);
    }
  });

  it("is denied to all others, without revealing which actions exist", async () => {
    const client = new Client(app, await app.token("*:*", "echo:*", "action:verbs"));
    for (const name of ["echo", "no-such-action"]) {
      const answer = await run(name, {}, client);
      const { detail } = assertProblem(answer, "insufficient-scope");
      assert.match(detail, new RegExp(`action:${name}`));
      const challenge = answer.headers.get("www-authenticate") ?? "";
      assert.match(challenge, new RegExp(`scope="action:${name}"`));
    }
    assertProblem(await run("echo", {}, new Client(app, null)), "unauthenticated");
    assertProblem(await run("echo", {}, new Client(app, "rst_wrong")), "unauthenticated");
  });

  it("leads to 404 for an unknown action when the caller may run any", async () => {
    const client = new Client(app, await app.token("action:*"));
    for (const name of ["no-such-action", "Echo", "echo.ts", "_ledger", "%22", "%c3%a9", "read"])
      assertProblem(await run(name, {}, client), "not-found");
    assertProblem(await run("%22%0d", {}, new Client(app, await app.token("a:read"))), "not-found");
  });

  it("allows POST only", async () => {
    const answer = await admin.get("/-/actions/echo");
    assertProblem(answer, "method-not-allowed");
    assert.equal(answer.headers.get("allow"), "POST, OPTIONS");
  });

  it("decides which actions the list shows", async () => {
    const client = new Client(app, await app.token("action:slow", "people:read"));
    const { data } = await client.json<{ data: readonly Record<string, unknown>[] }>("/-/actions");
    assert.equal(data.length, 1);
    const [{ input, ...slow } = {}] = data;
    assert.deepEqual(slow, {
      name: "slow",
      description: "Takes its time.",
      url: "/-/actions/slow",
      scope: "action:slow",
      timeoutMs: 500,
    });
    assert.equal((input as { type: string }).type, "object");
    assertProblem(await new Client(app, null).get("/-/actions"), "unauthenticated");
    assertProblem(await admin.get("/-/actions?page=1"), "invalid-parameter");
    const all = await admin.json<{ data: readonly { name: string }[] }>("/-/actions");
    assert.deepEqual(
      all.data.map(({ name }) => name),
      ["answer", "echo", "fail", "nap", "slow", "verbs"],
    );
  });
});

describe("the input of an action", () => {
  it("is the body with its defaults, and the caller", async () => {
    const token = await app.token("action:echo");
    const answer = await run(
      "echo",
      { id: "mine", nested: { deep: true } },
      new Client(app, token),
    );
    const { input, caller, requestId } = returned(answer) as Record<string, unknown>;
    assert.deepEqual(input, { id: "mine", nested: { deep: true }, count: 1 });
    const { id, ...rest } = caller as { id: string };
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, { name: "test", subject: id, scopes: ["action:echo"] });
    assert.equal(requestId, answer.headers.get("x-request-id"));
    assert.ok(!answer.body.includes(token));
  });

  it("is an empty object when there is no body", async () => {
    for (const framing of ["", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n"]) {
      const isChunked = framing.startsWith("T");
      const type = isChunked ? "Content-Type: application/json\r\n" : "";
      const head = `POST /-/actions/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\n${framing}${type}\r\n${isChunked ? "0\r\n\r\n" : ""}`;
      const [answer] = (await send(app.port, head)).responses;
      assert.equal(answer?.status, 200, `${framing} ${answer?.body}`);
      assert.deepEqual(JSON.parse(answer?.body ?? "").input, { count: 1 });
    }
    const rejected = await answerOf(app.request("/-/actions/verbs", { method: "POST" }));
    assert.deepEqual(pointersOf(assertProblem(rejected, "invalid-body")), ["/verb", "/args"]);
  });

  it("must match its schema: otherwise every error is reported and nothing runs", async () => {
    const answer = await run("echo", { id: 1, count: 0, nested: {} });
    const problem = assertProblem(answer, "invalid-body");
    assert.deepEqual(pointersOf(problem), ["/id", "/count", "/nested/deep"]);
  });

  it("must be a JSON object in UTF-8", async () => {
    for (const body of ["[]", "1", "null", "{", '{"a":1,"a":2}', '{"id":"\\ud800"}'])
      assertProblem(await run("echo", body), "invalid-body");
    const post = (headers: Record<string, string>, body: string | Uint8Array = "{}") =>
      answerOf(app.request("/-/actions/echo", { method: "POST", headers, body: body as string }));
    const json = { "content-type": "application/json" };
    const unsupported = await post({ "content-type": "text/csv" });
    assertProblem(unsupported, "unsupported-media-type");
    assert.match(unsupported.headers.get("accept-post") ?? "", /application\/json/);
    assertProblem(await post(json, Uint8Array.of(0x7b, 0xff, 0x7d)), "invalid-body");
    assertProblem(await post({ ...json, accept: "image/png" }), "not-acceptable");
    assertProblem(await post(json, `{"id":"${"a".repeat(1_100_000)}"}`), "content-too-large");
    assertProblem(await admin.post("/-/actions/echo?dry=1", {}), "invalid-parameter");
  });

  it("cannot have an Idempotency-Key", async () => {
    const answer = await admin.post("/-/actions/echo", {}, { "idempotency-key": '"one"' });
    assert.match(assertProblem(answer, "malformed-request").detail, /Idempotency-Key/);
  });
});

describe("the result of an action", () => {
  it("is 200 with any JSON value, and 204 without one", async () => {
    for (const value of [{ a: [1, null] }, [], "text", 0, false, null]) {
      const answer = await run("answer", { how: "value", value });
      assert.deepEqual(returned(answer), value);
      assert.equal(answer.headers.get("content-type"), "application/json");
      assert.equal(answer.headers.get("cache-control"), "no-store");
    }
    const { status, headers, body } = await run("answer", { how: "nothing" });
    assert.deepEqual([status, body, headers.get("content-type")], [204, "", null]);
  });

  it("may be 202 or 303 with a location", async () => {
    const cases = [
      ["/outbox/1", "/outbox/1"],
      ["/a b/ä?x=ü#y", "/a%20b/%C3%A4?x=%C3%BC#y"],
      ["https://example.org/x", "https://example.org/x"],
      ["http://example.org", "http://example.org/"],
      ["/x\r\nSet-Cookie: a=b", "/xSet-Cookie:%20a=b"],
    ] as const;
    for (const [location, address] of cases) {
      const accepted = await run("answer", { how: "accepted", location });
      assert.equal(accepted.status, 202, accepted.body);
      assert.equal(accepted.headers.get("location"), address);
      assert.deepEqual(JSON.parse(accepted.body), { location: address });
      const other = await run("answer", { how: "see-other", location });
      assert.deepEqual([other.status, other.body], [303, ""]);
      assert.equal(other.headers.get("location"), address);
      assert.equal(other.headers.get("set-cookie"), null);
    }
  });

  it("cannot redirect to another host", async () => {
    const bad = ["", "x", "//evil.example", "/\\evil.example", "javascript:alert(1)", "ftp://a/b"];
    for (const location of [...bad, "../x", "?x", "https://user:pw@example.org/", "http:x"])
      for (const how of ["accepted", "see-other"])
        assertProblem(await run("answer", { how, location }), "internal-error");
  });

  it("has the base URL before an absolute path", async () => {
    const base = "https://api.example.org/v1";
    const other = await startApp({ actions: folder("actions"), baseUrl: base });
    try {
      const client = new Client(other);
      const answer = await run("answer", { how: "accepted", location: "/outbox/1" }, client);
      assert.equal(answer.headers.get("location"), `${base}/outbox/1`);
      const args = ["outbox", { a: 1 }];
      const made = returned(await run("verbs", { verb: "create", args }, client));
      const { location } = made as { location: string };
      assert.ok(location.startsWith(`${base}/outbox/`));
      const again = await run("answer", { how: "see-other", location }, client);
      assert.equal(again.headers.get("location"), location);
    } finally {
      await other.stop();
    }
  });

  it("may be a problem that it throws", async () => {
    const problem = assertProblem(await run("answer", { how: "problem" }), "conflict");
    assert.equal(problem.detail, "It is in the way.");
    assert.deepEqual(problem.errors, [{ pointer: "/how", detail: "stop" }]);
  });

  it("is 500 when it is not a valid result, without details", async () => {
    for (const how of ["bigint", "function", "circle", "another-problem"])
      assertProblem(await run("answer", { how }), "internal-error");
  });
});

/** Returns the logged error of a request. */
function logged(requestId: string): { readonly stack: string; readonly message: string } {
  const line = captured.lines().find((each) => each.requestId === requestId && "err" in each);
  return (line?.err ?? assert.fail("it was not logged")) as { stack: string; message: string };
}

function assertThrown(answer: Answer, message: RegExp): void {
  const { requestId } = assertProblem(answer, "internal-error");
  assert.match(logged(requestId).message, message);
}

describe("an action that fails", () => {
  it("is 500 with a request id, and the stack is only in the log", async () => {
    for (const how of ["throw", "reject"]) {
      const answer = await run("fail", { how });
      const { requestId } = assertProblem(answer, "internal-error");
      assert.ok(!answer.body.includes("hunter2"));
      assert.match(logged(requestId).stack, /hunter2[\s\S]*fail\.ts/);
    }
  });

  it("is 500 when the result does not match the output schema", async () => {
    const { requestId } = assertProblem(await run("fail", { how: "nothing" }), "internal-error");
    assert.match(logged(requestId).message, /output schema: \/fine/);
  });

  it("after its deadline is logged", async () => {
    const { requestId } = assertProblem(await run("fail", { how: "late" }), "action-timeout");
    const findLine = () =>
      captured.lines().find(({ msg }) => msg === "an action failed after its deadline");
    while (findLine() === undefined) await sleep(20);
    assert.equal(findLine()?.requestId, requestId);
  });
});

/** Runs `slow`. Its deadline passes when it has written, however long that takes. */
async function runSlow(how: string): Promise<Answer> {
  const { setTimeout: begin } = globalThis;
  let pass = (): void => assert.fail("it has no deadline");
  const beginTimer = (act: () => void, ms?: number): ReturnType<typeof begin> => {
    if (ms !== 500) return begin(act, ms);
    pass = act;
    return begin(act, 3_600_000);
  };
  globalThis.setTimeout = beginTimer as typeof begin;
  try {
    const written = once(steps, "written");
    const answer = run("slow", { how });
    await written;
    pass();
    return await answer;
  } finally {
    globalThis.setTimeout = begin;
  }
}

describe("an action that exceeds its deadline", () => {
  beforeEach(() => seen.splice(0));

  it("is 504, is aborted, and keeps what it has written", async () => {
    for (const how of ["never", "stops"]) {
      const before = await app.total("late");
      const { detail } = assertProblem(await runSlow(how), "action-timeout");
      assert.match(detail, /slow did not finish within 500 ms/);
      assert.deepEqual(seen.splice(0), [`${how} TimeoutError`]);
      assert.equal(await app.total("late"), before + 1);
    }
  });

  it("cannot write any more", async () => {
    const before = await app.total("late");
    assertProblem(await runSlow("writes"), "action-timeout");
    while (seen.length < 2) await sleep(20);
    assert.deepEqual(seen, ["writes TimeoutError", "TimeoutError"]);
    assert.equal(await app.total("late"), before + 1);
  });

  it("may take longer than the idle timeout of a connection, with and without a body", async () => {
    const answers = await Promise.all([
      run("nap", { ms: 15_000 }),
      answerOf(app.request("/-/actions/nap", { method: "POST" })),
    ]);
    assert.deepEqual(answers.map(returned), [15_000, 15_000]);
  });
});

describe("resources in an action", () => {
  const call = (verb: string, args: readonly unknown[], client = admin) =>
    run("verbs", { verb, args }, client);

  interface Kept {
    readonly status: number;
    readonly location: string;
    readonly etag: string;
    readonly body: Record<string, unknown>;
  }
  const kept = async (verb: string, ...args: readonly unknown[]) =>
    returned(await call(verb, args)) as Kept;

  it("are represented as over HTTP", async () => {
    const made = await kept("create", "things", { name: "one" });
    assert.equal(made.status, 201);
    const shown = await admin.get(made.location);
    assert.equal(shown.headers.get("etag"), made.etag);
    assert.deepEqual(JSON.parse(shown.body), made.body);
    const id = made.body.id as string;
    assert.deepEqual(await kept("get", "things", id), { ...made, status: 200 });

    const patched = await kept("patch", "things", id, { age: 1 });
    assert.deepEqual([patched.status, patched.body.age, patched.body.name], [200, 1, "one"]);
    const json = [{ op: "remove", path: "/name" }];
    assert.equal((await kept("patch", "things", id, json)).body.name, undefined);
    const put = await kept("put", "things", id, { name: "two" });
    assert.deepEqual([put.status, put.body.name, put.body.age], [200, "two", undefined]);
    const other = await kept("put", "things", "chosen", { name: "three" });
    assert.deepEqual([other.status, other.location], [201, "/things/chosen"]);

    const query = { where: { name: { in: ["two", "three"] } }, sort: "-name", limit: 1 };
    const list = returned(await call("list", ["things", query])) as Record<string, unknown>;
    const asked = await answerOf(
      app.direct(
        new Request("http://localhost/things", {
          method: "QUERY",
          headers: {
            authorization: `Bearer ${app.admin}`,
            "content-type": "application/json",
            "transfer-encoding": "chunked",
          },
          body: JSON.stringify(query),
        }),
      ),
    );
    assert.deepEqual(list, JSON.parse(asked.body));
    assert.equal(returned(await call("remove", ["things", "chosen"])), null);
    assertProblem(await admin.get("/things/chosen"), "not-found");
  });

  it("need the scopes of the caller", async () => {
    await admin.putAndReadTag("/guarded/one", { a: 1 });
    const client = new Client(app, await app.token("action:verbs", "guarded:read"));
    assert.equal((await call("get", ["guarded", "one"], client)).status, 200);
    assert.equal((await call("list", ["guarded"], client)).status, 200);
    const rejected: readonly [string, readonly unknown[], string][] = [
      ["create", ["guarded", {}], "guarded:create"],
      ["put", ["guarded", "one", {}], "guarded:update"],
      ["patch", ["guarded", "one", {}], "guarded:update"],
      ["remove", ["guarded", "one"], "guarded:delete"],
      ["get", ["others", "one"], "others:read"],
      ["list", ["others"], "others:read"],
      ["batch", [[{ method: "DELETE", path: "/guarded/one" }]], "guarded:delete"],
    ];
    for (const [verb, args, scope] of rejected) {
      const problem = await client.rejects("guarded", "insufficient-scope", () =>
        call(verb, args, client),
      );
      assert.match(problem.detail, new RegExp(scope), verb);
    }
  });

  it("are limited to those the caller owns", async () => {
    const definition = { access: { read: "owner", update: "owner", delete: "owner" } };
    await admin.put("/-/collections/notes", definition);
    const clients = await concurrently(
      2,
      async () => new Client(app, await app.token("notes:*", "action:*")),
    );
    const [ann, bob] = clients as [Client, Client];
    const { body } = returned(await call("create", ["notes", { text: "a" }], ann)) as Kept;
    assert.equal((await ann.get(`/notes/${body.id}`)).status, 200);
    for (const [verb, args, problem] of [
      ["get", [], "not-found"],
      ["put", [{}], "conflict"],
      ["patch", [{}], "not-found"],
      ["remove", [], "not-found"],
    ] as const)
      assertProblem(await call(verb, ["notes", body.id, ...args], bob), problem);
    const list = returned(await call("list", ["notes"], bob)) as { data: readonly unknown[] };
    assert.deepEqual(list.data, []);
    const patched = await call("patch", ["notes", body.id, { text: "b" }], ann);
    assert.equal((returned(patched) as Kept).body.text, "b");
  });

  it("are validated by the rules of the collection", async () => {
    await admin.put("/-/collections/strict", {
      schema: {
        type: "object",
        properties: {
          email: { type: "string", format: "email" },
          pin: { type: "integer", writeOnly: true },
        },
        required: ["email"],
        additionalProperties: false,
      },
      unique: ["email"],
      preconditions: "required",
      idempotencyKey: "required",
    });
    const rejectionOf = async (
      kind: Parameters<Client["rejects"]>[1],
      verb: string,
      ...args: unknown[]
    ) => admin.rejects("strict", kind, () => call(verb, ["strict", ...args]));
    const key = { idempotencyKey: "k1" };
    await rejectionOf("key-required", "create", { email: "a@b.test" });
    const errors = await rejectionOf("invalid-body", "create", { other: 1 }, key);
    assert.deepEqual(pointersOf(errors).toSorted(), ["/email", "/other"]);
    await rejectionOf("invalid-body", "create", { id: "mine", email: "a@b.test" }, key);
    for (const idempotencyKey of ["\n", "", "\u00fc", "\u65e5"])
      await rejectionOf("malformed-request", "create", { email: "a@b.test" }, { idempotencyKey });
    const made = await kept("create", "strict", { email: "a@b.test", pin: 1 }, key);
    assert.deepEqual(Object.keys(made.body), ["id", "email", "createdAt", "updatedAt"]);
    const again = await kept("create", "strict", { email: "a@b.test", pin: 1 }, key);
    assert.equal(again.body.id, made.body.id);
    assert.equal(await app.total("strict"), 1);
    await rejectionOf("key-reused", "create", { email: "b@b.test" }, key);
    await rejectionOf("conflict", "create", { email: "a@b.test" }, { idempotencyKey: "k2" });
    const id = made.body.id;
    await rejectionOf("precondition-required", "patch", id, { email: "c@b.test" });
    await rejectionOf(
      "precondition-failed",
      "patch",
      id,
      { email: "c@b.test" },
      { ifMatch: '"x"' },
    );
    await rejectionOf(
      "precondition-failed",
      "put",
      id,
      { email: "c@b.test" },
      { ifNoneMatch: "*" },
    );
    await rejectionOf("precondition-failed", "remove", id, { ifMatch: '"x"' });
    const { etag: ifMatch } = made;
    const changed = await kept("patch", "strict", id, { email: "c@b.test" }, { ifMatch });
    assert.equal(changed.body.email, "c@b.test");
    await rejectionOf("not-found", "get", "nobody");
    await rejectionOf(
      "conflict",
      "put",
      id,
      { id: "x", email: "a@b.test" },
      { ifMatch: changed.etag },
    );
    await rejectionOf("invalid-body", "list", { nonsense: 1 });
  });

  it("are subject to the limits of HTTP", async () => {
    const big = { text: "a".repeat(1_000_000) };
    assertProblem(await call("create", ["Things!", {}]), "not-found");
    assertProblem(await call("get", ["", "x"]), "not-found");
    assertProblem(await call("create", ["things", [1]]), "invalid-body");
    assertProblem(await call("list", ["things", { limit: 1001 }]), "invalid-body");
    const small = await startApp({ actions: folder("actions"), maxBodyBytes: 1000 });
    try {
      const client = new Client(small);
      await client.post("/things", { text: "a".repeat(900) });
      const { data } = await client.json<{ data: { id: string }[] }>("/things");
      const patch = { more: "b".repeat(300) };
      const args = ["things", data[0]?.id, patch];
      assertProblem(await call("patch", args, client), "invalid-body");
    } finally {
      await small.stop();
    }
    assert.equal((await call("create", ["things", big])).status, 200);
  });

  it("are named by strings only", async () => {
    const before = (await admin.get("/things")).body;
    for (const id of [5, null, true, ["x"], {}])
      for (const [verb, ...more] of [["get"], ["put", {}], ["patch", {}], ["remove"]] as const) {
        assertProblem(await call(verb, ["things", id, ...more]), "internal-error");
        assertProblem(await call(verb, [id, "x", ...more]), "internal-error");
      }
    assertProblem(await call("put", ["things"]), "internal-error");
    assertProblem(await call("list", [5]), "internal-error");
    assert.equal((await admin.get("/things")).body, before);
  });

  it("take no option that is unknown or has no value, and write nothing then", async () => {
    await admin.putAndReadTag("/optional/one", { a: 1 });
    const before = (await admin.get("/optional?fields=*,_etag")).body;
    const target = ["optional", "one"];
    const wrong: [options: unknown, named: RegExp][] = [
      [{ ifMatch: null }, /ifMatch must be a string, not null/],
      [{ ifMatch: "undefined" }, /ifMatch must be a string, not undefined/],
      [{ ifMatch: 5 }, /ifMatch must be a string, not number/],
      [{ ifNoneMatch: "undefined" }, /ifNoneMatch must be/],
      [{ ifmatch: '"x"' }, /no option ifmatch; .*ifMatch, ifNoneMatch/],
      [{ ifMatch: "*", "If-Match": '"x"' }, /no option If-Match/],
      [{ idempotencyKey: "k" }, /no option idempotencyKey/],
      ['"x"', /must be an object/],
      [["ifMatch"], /must be an object/],
      [null, /must be an object/],
    ];
    for (const [options, named] of wrong)
      for (const [verb, ...args] of [["put", { a: 2 }], ["patch", { a: 2 }], ["remove"]] as const)
        assertThrown(await call(verb, [...target, ...args, options]), named);

    const keys: [options: unknown, named: RegExp][] = [
      [{ idempotencyKey: null }, /idempotencyKey must be a string, not null/],
      [{ idempotencyKey: "undefined" }, /idempotencyKey must be a string, not undefined/],
      [{ idempotencykey: "k" }, /no option idempotencykey; .*idempotencyKey/],
      ["k", /must be an object/],
    ];
    const operation = { method: "PATCH", path: "/optional/one", body: { a: 2 } };
    for (const [options, named] of keys) {
      assertThrown(await call("create", ["optional", { a: 2 }, options]), named);
      assertThrown(await call("batch", [[operation], options]), named);
    }
    for (const name of ["ifMatch", "ifNoneMatch"]) {
      const answer = await call("batch", [[{ ...operation, [name]: "undefined" }]]);
      assertThrown(answer, new RegExp(`operations\\[0\\]\\.${name} is undefined`));
      const withNull = await call("batch", [[{ ...operation, [name]: null }]]);
      assertProblem(withNull, "invalid-body");
    }
    assert.equal((await admin.get("/optional?fields=*,_etag")).body, before);
  });

  it("are listed by no condition without a value", async () => {
    await admin.putAndReadTag("/conditional/one", { a: 1 });
    for (const where of [
      "undefined",
      { owner: "undefined" },
      { $or: [{ a: { gt: "undefined" } }] },
    ])
      assertThrown(await call("list", ["conditional", { where }]), /^where\S* is undefined$/);
    assert.equal((await call("list", ["conditional", { cursor: "undefined" }])).status, 200);
    const body = { a: 3, left: "undefined" };
    const made = await kept("create", "conditional", body);
    assert.deepEqual(Object.keys(made.body), ["id", "a", "createdAt", "updatedAt"]);
    const operation = { method: "PUT", path: "/conditional/without", body };
    assert.equal((await call("batch", [[operation]])).status, 200);
  });

  it("are changed all or none in a batch", async () => {
    const good = { method: "PUT", path: "/things/batched", body: { a: 1 } };
    const bad = { method: "DELETE", path: "/things/no-such-id" };
    const problem = await admin.rejects("things", "not-found", () => call("batch", [[good, bad]]));
    assert.deepEqual(pointersOf(problem), ["/operations/1"]);
    assertProblem(await call("batch", [[]]), "invalid-body");
    const results = returned(await call("batch", [[good, { ...good, body: { a: 2 } }]])) as Kept[];
    assert.deepEqual(
      results.map(({ status, body, location }) => [status, body.a, location]),
      [
        [201, 1, "/things/batched"],
        [200, 2, "/things/batched"],
      ],
    );
  });

  it("lead to a problem that the action can catch", async () => {
    const input = { verb: "get", args: ["things", "no-such-id"], isCaught: true };
    const caught = returned(await run("verbs", input)) as Record<string, unknown>;
    assert.equal(caught.kind, "not-found");
    assert.match(caught.message as string, /^not-found: There is no resource/);
  });
});

describe("the OpenAPI document", () => {
  const read = async (token: string | null): Promise<Document> =>
    JSON.parse((await new Client(app, token).get("/-/openapi.json")).body);

  it("contains each action for callers who may run it", async () => {
    const pathsOf = async (token: string | null) =>
      Object.keys((await read(token)).paths).filter((path) => path.startsWith("/-/actions/"));
    const every = "/-/actions/{name}";
    assert.deepEqual(await pathsOf(null), [every]);
    assert.deepEqual(await pathsOf(await app.token("*:*")), [every]);
    assert.deepEqual(await pathsOf(await app.token("action:echo")), ["/-/actions/echo", every]);
    assert.equal((await pathsOf(app.admin)).length, 7);
  });

  it("describes input and result", async () => {
    const document = await read(app.admin);
    const { post } = document.paths["/-/actions/echo"] ?? {};
    assert.equal(post?.operationId, "runActionEcho");
    assert.deepEqual(post.security, [{ bearer: ["action:echo"] }]);
    const { schemas } = document.components;
    const { properties } = schemas.ActionEchoInput as { properties: Record<string, unknown> };
    assert.deepEqual(properties.nested, { $ref: "#/components/schemas/ActionEchoNested" });
    assert.ok(schemas.ActionEchoNested);
    assert.deepEqual(Object.keys(post.responses).slice(0, 4), ["200", "202", "204", "303"]);
    const fail = document.paths["/-/actions/fail"]?.post;
    const schema = fail?.responses["200"]?.content?.["application/json"]?.schema;
    assert.deepEqual(schema, { $ref: "#/components/schemas/ActionFailOutput" });
    const bodies = ["echo", "fail"].map((name) => {
      const { requestBody } = document.paths[`/-/actions/${name}`]?.post ?? {};
      return (requestBody as { required?: boolean } | undefined)?.required;
    });
    assert.deepEqual(bodies, [false, true]);
  });

  itLong("passes the linter for any collection names", async () => {
    for (const name of ["action", "actions", "action-echo-input", "echo"])
      await admin.put(`/-/collections/${name}`, {});
    const document = await read(app.admin);
    assert.deepEqual(await lint(document), { code: 0, problems: [] });
    const operations = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap((each) => ("operationId" in each ? each.operationId : [])),
    );
    assert.equal(new Set(operations).size, operations.length);
  });
});

describe("the examples", () => {
  let shop: TestApp;
  let client: Client;
  before(async () => {
    shop = await startApp({ actions: folder("../../examples/actions") });
    client = new Client(shop);
  });
  after(() => shop.stop());

  it("send-invoice adds an invoice to the outbox and returns its location", async () => {
    const lines = [
      { what: "Advice", cents: 100, count: 3 },
      { what: "Coffee", cents: 250 },
    ];
    const input = { customer: "ada@example.org", lines };
    const { status, headers } = await run("send-invoice", input, client);
    assert.equal(status, 202);
    const invoice = await client.json<Record<string, unknown>>(headers.get("location") ?? "");
    assert.deepEqual(
      [invoice.to, invoice.cents, invoice.currency, invoice.state],
      ["ada@example.org", 550, "EUR", "waiting"],
    );
    const wrong = await run("send-invoice", { customer: "ada", lines: [] }, client);
    assert.deepEqual(pointersOf(assertProblem(wrong, "invalid-body")), ["/customer", "/lines"]);
    assert.equal(await shop.total("outbox"), 1);
  });

  it("transfer moves an amount completely or not at all, also concurrently", async () => {
    await client.putAndReadTag("/accounts/ada", { cents: 1000 });
    await client.putAndReadTag("/accounts/bob", { cents: 0 });
    const first = await run("transfer", { from: "ada", to: "bob", cents: 400 }, client);
    assert.deepEqual(returned(first), { from: 600, to: 400 });
    const many = await concurrently(20, () =>
      run("transfer", { from: "ada", to: "bob", cents: 50 }, client),
    );
    const done = many.filter(({ status }) => status === 200).length;
    for (const answer of many) if (answer.status !== 200) assertProblem(answer, "conflict");
    assert.equal(done, 12);
    const left = await client.json<{ data: readonly { cents: number }[] }>("/accounts");
    assert.deepEqual(
      left.data.map(({ cents }) => cents),
      [0, 1000],
    );
    for (const [input, kind] of [
      [{ from: "ada", to: "ada", cents: 1 }, "invalid-body"],
      [{ from: "ada", to: "nobody", cents: 1 }, "not-found"],
      [{ from: "../x", to: "bob", cents: 1 }, "invalid-body"],
      [{ from: "ada", to: "bob", cents: -1 }, "invalid-body"],
    ] as const)
      await client.rejects("accounts", kind, () => run("transfer", input, client));
  });

  it("place-order does with a token of its own what its caller may not do, once", async () => {
    const stock = { type: "integer", minimum: 0 };
    const schema = { type: "object", properties: { stock } };
    await client.put("/-/collections/products", { schema });
    await client.putAndReadTag("/products/gear", { stock: 10 });
    process.env.SHOP_URL = shop.url;
    process.env.SHOP_TOKEN = await shop.token(
      ...["orders:create", "orders:read", "products:read", "products:update"],
    );
    await client.putAndReadTag("/orders/first", {});
    const visitor = new Client(shop, await shop.token("action:place-order", "products:read"));
    const order = (key: string, product = "gear", count = 2) =>
      run("place-order", { key, customer: "Ada", lines: [{ product, count }] }, visitor);
    const many = await concurrently(12, (at) => order(`order-number-${1000 + at}`));
    assert.equal(many.filter(({ status }) => status === 200).length, 5);
    for (const answer of many) if (answer.status !== 200) assertProblem(answer, "conflict");
    assert.equal((await client.json<{ stock: number }>("/products/gear")).stock, 0);
    assert.equal(await shop.total("orders"), 6);
    await client.putAndReadTag("/products/gear", { stock: 10 });
    const [first, again] = [await order("order-number-2000"), await order("order-number-2000")];
    assert.deepEqual(returned(first), returned(again));
    assert.equal((await client.json<{ stock: number }>("/products/gear")).stock, 8);
    assertProblem(await order("order-number-2000", "gear", 1), "conflict");
    assertProblem(await order("order-number-3000", "nothing"), "not-found");
    assertProblem(await order("order-number-4000", "gear", -5), "invalid-body");
    await client.rejects("products", "insufficient-scope", () =>
      visitor.patch("/products/gear", { stock: 99 }),
    );
  });

  it("transfer needs the permissions of its caller", async () => {
    const other = new Client(shop, await shop.token("action:transfer", "accounts:read"));
    const input = { from: "bob", to: "ada", cents: 1 };
    await client.rejects("accounts", "insufficient-scope", () => run("transfer", input, other));
  });
});
