// Validation applies however a resource is written, and hidden fields stay hidden.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client, concurrently, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

let app: TestApp;
let admin: Client;
let client: Client;
before(async () => {
  app = await startApp();
  admin = new Client(app);
  client = new Client(app, await app.token("*:*"));
  const { status, body } = await admin.put("/-/collections/people", people);
  assert.equal(status, 201, body);
});
after(() => app.stop());

const people = {
  schema: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 100 },
      email: { type: "string", format: "email" },
      age: { type: "integer", minimum: 0 },
      role: { enum: ["reader", "writer"], default: "reader" },
      password: { type: "string", writeOnly: true, minLength: 8 },
      credit: { type: "number", readOnly: true, default: 0 },
      address: { type: "object", properties: { city: { type: "string" } } },
    },
    required: ["name", "email"],
    additionalProperties: false,
  },
  unique: ["email", ["name", "address.city"]],
};

let count = 0;
const person = (more: object = {}) => ({
  name: "Ann",
  email: `ann${++count}@example.org`,
  ...more,
});

describe("an invalid resource", () => {
  const wrong = { name: "", email: "nowhere", age: -1, color: "red" };
  const pointers = ["/age", "/color", "/email", "/name"];

  it("is rejected by POST, PUT, PATCH and in a batch, with every error at once", async () => {
    await client.put("/people/fits", person());
    for (const ask of [
      () => client.post("/people", wrong),
      () => client.put("/people/new", wrong),
      () => client.put("/people/fits", wrong),
      () => client.patch("/people/fits", wrong),
    ]) {
      const problem = await admin.rejects("people", "invalid-body", ask);
      assert.deepEqual([...pointersOf(problem)].sort(), pointers);
    }
    const problem = await admin.rejects("people", "invalid-body", () =>
      client.batch([
        { method: "POST", path: "/people", body: person() },
        { method: "POST", path: "/people", body: wrong },
      ]),
    );
    assert.deepEqual(
      [...pointersOf(problem)].sort(),
      pointers.map((pointer) => `/operations/1/body${pointer}`),
    );
  });

  it("gets a message about what is missing", async () => {
    const problem = await admin.rejects("people", "invalid-body", () => client.post("/people", {}));
    assert.deepEqual([...pointersOf(problem)].sort(), ["/email", "/name"]);
    for (const { detail } of problem.errors ?? []) assert.match(detail, /required/);
  });

  it("is rejected when a patch removes a required field", async () => {
    await client.put("/people/whole", person());
    const problem = await admin.rejects("people", "invalid-body", () =>
      client.patch("/people/whole", { email: null }),
    );
    assert.deepEqual(pointersOf(problem), ["/email"]);
  });
});

describe("a valid resource", () => {
  it("is stored as it was sent, with missing defaults added", async () => {
    const made = await client.post(
      "/people",
      '{"name":"Bea","age":1.0e1,"email":"bea@example.org"}',
    );
    assert.equal(made.status, 201, made.body);
    assert.match(made.body, /"name":"Bea","age":1.0e1,"email":"bea@example.org"/);
    const view: Record<string, unknown> = JSON.parse(made.body);
    assert.deepEqual([view.role, view.credit], ["reader", 0]);
    const again = await client.get(made.headers.get("location") ?? "");
    assert.equal(again.body, made.body);
  });
});

describe("a unique field", () => {
  it("is 409 with the pointer, and nothing is stored", async () => {
    const email = "only@example.org";
    await client.put("/people/only", person({ email }));
    for (const ask of [
      () => client.post("/people", person({ email })),
      () => client.put("/people/another", person({ email })),
      () => client.post("/people", person({ email }), { "idempotency-key": '"twice"' }),
    ])
      assert.deepEqual(pointersOf(await admin.rejects("people", "conflict", ask)), ["/email"]);
    const inBatch = await admin.rejects("people", "conflict", () =>
      client.batch([
        { method: "POST", path: "/people", body: person() },
        { method: "POST", path: "/people", body: person({ email }) },
      ]),
    );
    assert.deepEqual(pointersOf(inBatch), ["/operations/1/body/email"]);
    assert.equal((await client.put("/people/only", person({ email, name: "Cy" }))).status, 200);
    assert.equal((await client.remove("/people/only")).status, 204);
    assert.equal((await client.put("/people/another", person({ email }))).status, 201);
  });

  it("is 409 with all pointers when it is one of several", async () => {
    const address = { city: "Bern" };
    await client.put("/people/ann", person({ address }));
    for (const ask of [
      () => client.post("/people", person({ address })),
      () => client.patch("/people/fits", { address }),
    ]) {
      const problem = await admin.rejects("people", "conflict", ask);
      assert.deepEqual(pointersOf(problem), ["/name", "/address/city"]);
      assert.match(problem.detail, /^name and address\.city must be unique together\./);
    }
    for (const more of [{}, {}, { address: {} }, { name: "Bo", address }, { name: "Bea" }])
      assert.equal((await client.post("/people", person(more))).status, 201);
    assert.equal((await client.patch("/people/ann", { address: { city: "Basel" } })).status, 200);
    assert.equal((await client.post("/people", person({ address }))).status, 201);
  });

  it("is given to one of many clients that send it at once", async () => {
    const email = "wanted@example.org";
    const answers = await concurrently(32, () => client.post("/people", person({ email })));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array.from({ length: 31 }, () => 409)]);
  });
});

describe("a writeOnly field", () => {
  const secret = "correct horse";
  before(() => client.put("/people/secretive", person({ password: secret })));

  it("is stored and never shown", async () => {
    const made = await client.post("/people", person({ password: secret }));
    for (const answer of [
      made,
      await client.get(made.headers.get("location") ?? ""),
      await client.get("/people?limit=1000"),
      await client.get("/people?since=0&limit=1000"),
      await client.patch("/people/secretive", { age: 1 }),
      await client.put("/people/secretive", person({ password: secret })),
      await client.batch([{ method: "PATCH", path: "/people/secretive", body: { age: 2 } }]),
    ]) {
      assert.ok(answer.status < 300, answer.body);
      assert.doesNotMatch(answer.body, /password|correct horse/);
    }
  });

  it("cannot be read by a patch", async () => {
    for (const patch of [
      [{ op: "test", path: "/password", value: secret }],
      [{ op: "copy", from: "/password", path: "/name" }],
      [{ op: "move", from: "/password", path: "/name" }],
    ]) {
      const answer = await client.jsonPatch("/people/secretive", patch);
      assert.ok(answer.status >= 400 && answer.status < 500, answer.body);
    }
    const wrongGuess = [{ op: "test", path: "/password", value: "wrong" }];
    const rightGuess = [{ op: "test", path: "/password", value: secret }];
    const wrong = await client.jsonPatch("/people/secretive", wrongGuess);
    const right = await client.jsonPatch("/people/secretive", rightGuess);
    assert.equal(wrong.status, right.status);
  });

  it("is kept when a client that cannot see it writes the resource back", async () => {
    // It is required from here on, so its loss would be reported.
    const schema = { ...people.schema, required: ["name", "email", "password"] };
    await admin.put("/-/collections/people", { ...people, schema });
    const read = await client.json<object>("/people/secretive");
    assert.equal((await client.put("/people/secretive", read)).status, 200);
    assert.equal((await client.patch("/people/secretive", { age: 3 })).status, 200);
    await admin.rejects("people", "invalid-body", () => client.post("/people", person()));
    await admin.put("/-/collections/people", people);
  });

  it("leads to another ETag when it becomes hidden", async () => {
    await admin.put("/vault/a", { pin: "1234", n: 1 });
    const before = await admin.tag("/vault/a");
    const schema = { type: "object", properties: { pin: { type: "string", writeOnly: true } } };
    await admin.put("/-/collections/vault", { schema });
    const after = await admin.get("/vault/a", { "if-none-match": before });
    assert.equal(after.status, 200);
    assert.doesNotMatch(after.body, /1234/);
    const tag = after.headers.get("etag") ?? "";
    assert.equal((await admin.put("/vault/a", { n: 2 }, { "if-match": tag })).status, 200);
  });
});

describe("a readOnly field", () => {
  it("is set by admins only, and may be sent back unchanged", async () => {
    await client.put("/people/poor", person());
    const rejected = await admin.rejects("people", "invalid-body", () =>
      client.patch("/people/poor", { credit: 1_000_000 }),
    );
    assert.deepEqual(pointersOf(rejected), ["/credit"]);
    await admin.rejects("people", "invalid-body", () =>
      client.post("/people", person({ credit: 5 })),
    );
    assert.equal((await admin.patch("/people/poor", { credit: 7 })).status, 200);
    const read = await client.json<{ credit: number }>("/people/poor");
    assert.equal(read.credit, 7);
    assert.equal((await client.put("/people/poor", read)).status, 200);
    assert.equal((await client.put("/people/poor", person())).status, 200);
    assert.equal((await client.json<{ credit: number }>("/people/poor")).credit, 7);
  });
});

describe("a collection with its own size limit", () => {
  it("rejects larger bodies with 413", async () => {
    await admin.put("/-/collections/small", { maxBytes: 40 });
    assert.equal((await client.post("/small", { text: "short" })).status, 201);
    const large = { text: "x".repeat(100) };
    await admin.rejects("small", "content-too-large", () => client.post("/small", large));
  });
});

describe("definitions that change during writes", () => {
  it("apply to every write that is acknowledged after them", async () => {
    const rules = (isStrict: boolean) =>
      isStrict ? { schema: { type: "object", required: ["strict"] } } : {};
    await admin.put("/-/collections/moving", rules(false));
    const writers = concurrently(8, async (index) => {
      for (let n = 0; n < 40; n++) await client.post("/moving", { index, n });
    });
    const defined = await admin.put("/-/collections/moving", rules(true));
    assert.equal(defined.status, 200);
    const { total } = await admin.json<{ total: number }>("/moving?limit=1");
    await writers;
    assert.equal(await app.total("moving"), total);
    assertProblem(await client.post("/moving", {}), "invalid-body");
  });
});
