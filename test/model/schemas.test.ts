// The schemas of the API: each is a valid JSON Schema, its examples are valid, and its messages help.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ErrorReport } from "../../src/lib/json/error-report.ts";
import { checkValue } from "../../src/lib/schema/check-value.ts";
import { metaschema } from "../../src/lib/schema/metaschema.ts";
import {
  invalidMessage,
  type ObjectSchema,
  unknownMemberMessage,
} from "../../src/lib/schema/subschemas.ts";
import { withDefaults } from "../../src/lib/schema/with-defaults.ts";
import { batchLimits, batchSchema } from "../../src/model/schemas/batch.ts";
import { schemaComponents } from "../../src/model/schemas/components.ts";
import { querySchema } from "../../src/model/schemas/query.ts";
import { readTokenRequest } from "../../src/model/schemas/token.ts";

const errorsOf = (schema: ObjectSchema, value: unknown): readonly string[] => {
  const report = new ErrorReport();
  const isValid = checkValue(schema, value, report);
  assert.equal(isValid, report.errors.length === 0);
  return report.errors.map(({ pointer, detail }) => `${pointer}: ${detail}`);
};

describe("the schemas of the API", () => {
  for (const [name, schema] of Object.entries<ObjectSchema>(schemaComponents)) {
    it(`${name} is a JSON Schema, and its examples are valid`, () => {
      assert.deepEqual(errorsOf(metaschema, JSON.parse(JSON.stringify(schema))), []);
      const { examples = [] } = schema;
      for (const example of examples as readonly unknown[])
        assert.deepEqual(errorsOf(schema, example), []);
    });
  }

  it("have the limits that are enforced", () => {
    const operations = (count: number) =>
      Array(count).fill({ method: "DELETE", path: "/people/ada" });
    const { maxOperations } = batchLimits;
    assert.deepEqual(errorsOf(batchSchema, { operations: operations(maxOperations) }), []);
    assert.deepEqual(errorsOf(batchSchema, { operations: operations(maxOperations + 1) }), [
      `/operations: must have at most ${maxOperations} items, but has ${maxOperations + 1}`,
    ]);
  });

  it("say what was probably meant", () => {
    const [error = ""] = errorsOf(querySchema, { per_page: 5 });
    assert.match(error, /^\/per_page: .*use limit/);
    const [path = ""] = errorsOf(batchSchema, {
      operations: [{ method: "PATCH", path: "people", body: {} }],
    });
    assert.equal(
      path,
      "/operations/0/path: must be /{collection} for POST, and /{collection}/{id} for the others",
    );
  });
});

describe("the messages of a schema", () => {
  const schema = {
    type: "object",
    properties: {
      color: { type: "string", pattern: "^#", maxLength: 7, [invalidMessage]: "must be like #fff" },
      size: {
        type: "integer",
        minimum: 1,
        [invalidMessage]: (value: unknown) => `${value} is not a size`,
      },
    },
    additionalProperties: false,
    [unknownMemberMessage]: (name: string) => `no ${name} here`,
  } as const;

  it("replace those of the keywords, one for each value", () => {
    assert.deepEqual(errorsOf(schema, { color: "blue, not a color", size: 0, weight: 1 }), [
      "/color: must be like #fff",
      "/size: 0 is not a size",
      "/weight: no weight here",
    ]);
    assert.deepEqual(errorsOf(schema, { color: "#fff", size: 1 }), []);
  });

  it("are not part of the JSON text", () => {
    assert.ok(!/must be like|not a size|here/.test(JSON.stringify(schema)));
  });
});

describe("defaults", () => {
  const schema = {
    type: "object",
    properties: {
      list: { type: "array", default: [] },
      inner: {
        type: "object",
        default: {},
        properties: { on: { type: "boolean", default: true } },
      },
      bare: { type: "object", properties: { on: { type: "boolean", default: true } } },
    },
  } as const;

  it("are filled in, also in nested objects, and never replace what was sent", () => {
    assert.deepEqual(withDefaults(schema, {}), { list: [], inner: { on: true } });
    const given = { list: [1], inner: { on: false, more: 1 }, bare: {} };
    assert.deepEqual(withDefaults(schema, given), {
      list: [1],
      inner: { on: false, more: 1 },
      bare: { on: true },
    });
    assert.deepEqual(given.bare, {});
  });
});

describe("the expiry of a token request", () => {
  const expiryOf = (expiresAt?: unknown) => {
    const read = readTokenRequest({ name: "n", scopes: ["admin"], expiresAt }, 0);
    return "name" in read ? read.expiresAt : read.map(({ pointer }) => pointer);
  };
  const cases: readonly [expiresAt: unknown, expected: unknown][] = [
    [null, null],
    ["1970-01-01T00:00:01Z", 1000],
    ["1970-01-01T00:01Z", 60_000],
    ["1970-01-01T02:00:01.5+02:00", 1500],
    ["1970-12-31T23:59:60Z", ["/expiresAt"]],
    ["1970-01-01T00:00:00Z", ["/expiresAt"]],
    ["1970-02-30T00:00:00Z", ["/expiresAt"]],
    ["1970-01-02", ["/expiresAt"]],
    [1000, ["/expiresAt"]],
  ];
  for (const [expiresAt, expected] of cases)
    it(`${expiresAt} is ${JSON.stringify(expected)}`, () =>
      assert.deepEqual(expiryOf(expiresAt), expected));
});
