// Schemas that compare fields with hidden ones: the errors of a write are the same whatever is hidden.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";

let app: TestApp;
let admin: Client;
let ann: Client;
before(async () => {
  app = await startApp();
  admin = new Client(app);
  ann = new Client(app, await app.token("things:*"));
});
after(() => app.stop());

const integer = { type: "integer" };
const properties = { seen: integer, other: {}, count: integer, hidden: {}, secret: {} };
const access = {
  read: [{ name: "a part", to: "token", fields: ["seen", "other", "count"] }],
  update: [{ name: "all", to: "token" }],
};

interface Case {
  readonly schema: object;
  /** What is hidden, of which none is valid with what is sent. */
  readonly states: readonly object[];
  readonly sent: object;
  readonly errors: readonly object[];
}

const stored = {
  pointer: "",
  detail: "the resource would not be valid together with its stored values",
};
const notWhole = { pointer: "/seen", detail: "must be a whole number, not text" };

const cases: Readonly<Record<string, Case>> = {
  "a hidden field needs another": {
    schema: { properties, dependentRequired: { hidden: ["secret"] } },
    states: [{}, { hidden: 1 }, { hidden: 1, secret: 1 }, { secret: 1 }],
    sent: { seen: "x" },
    errors: [notWhole],
  },
  "a hidden field is not valid itself": {
    schema: { properties: { ...properties, hidden: { minLength: 3 } } },
    states: [{}, { hidden: "x" }, { hidden: "xxx" }, { hidden: 5 }],
    sent: { seen: "x" },
    errors: [notWhole],
  },
  "a hidden field decides what is wrong": {
    schema: {
      properties,
      if: { properties: { hidden: { const: 1 } }, required: ["hidden"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { other: { maximum: 3 } } },
      else: { properties: { other: { minimum: 7 } } },
    },
    states: [{}, { hidden: 1 }, { hidden: 2 }],
    sent: { other: 5 },
    errors: [{ pointer: "/other", detail: "must be at least 7" }],
  },
  "one hidden field is missing, or another is not valid": {
    schema: {
      properties: { ...properties, secret: { minLength: 3 } },
      dependentRequired: { seen: ["hidden"] },
    },
    states: [{}, { hidden: 1, secret: "x" }, { secret: "x" }],
    sent: { seen: 1 },
    errors: [stored],
  },
};

const errorsOf = (answer: Answer, kind: "invalid-body" | "conflict") =>
  assertProblem(answer, kind).errors;

/** The states are stored before the schema, so that some are not valid. */
async function store(schema: object, states: readonly object[], seen: object): Promise<void> {
  await admin.remove("/-/collections/things?confirm=things");
  for (const [index, state] of states.entries())
    await admin.put(`/things/${index}`, { ...seen, ...state });
  const defined = await admin.put("/-/collections/things", { schema, access });
  assert.equal(defined.status, 200, defined.body);
}

describe("the errors of a write do not depend on what its caller does not see", () => {
  for (const [title, { schema, states, sent, errors }] of Object.entries(cases))
    it(title, async () => {
      await store(schema, states, {});
      for (const index of states.keys()) {
        const path = `/things/${index}`;
        assert.deepEqual(errorsOf(await ann.patch(path, sent), "invalid-body"), errors, path);
        assert.deepEqual(errorsOf(await ann.put(path, sent), "invalid-body"), errors, path);
        const operations = [{ method: "PATCH", path, body: sent }];
        const batch = errorsOf(await ann.batch(operations), "invalid-body") ?? [];
        const own = batch.map(({ pointer = "", detail }) => ({
          pointer: pointer.replace("/operations/0/body", ""),
          detail,
        }));
        assert.deepEqual(own, errors, path);
      }
    });

  it("those of operations, too", async () => {
    const schema = {
      properties: { ...properties, count: { maximum: 3 }, hidden: { minLength: 3 } },
    };
    const states = [{}, { hidden: "x" }, { hidden: "xxx" }];
    const headers = { "content-type": "application/vnd.restante.operations+json" };
    await store(schema, states, { count: 3 });
    for (const index of states.keys()) {
      const answer = await ann.patch(`/things/${index}`, { increment: { count: 1 } }, headers);
      const expected = [{ pointer: "/count", detail: "must be at most 3" }];
      assert.deepEqual(errorsOf(answer, "conflict"), expected);
    }
  });
});
