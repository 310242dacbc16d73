// Schemas for code generators: they accept what the exact schema accepts, and have the shapes that generators need.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MergePatchSchemas } from "../../src/lib/schema/merge-patch.ts";
import { type Direction, portableSchema } from "../../src/lib/schema/portable.ts";
import {
  allSchemas,
  type Find,
  isObjectSchema,
  type ObjectSchema,
  type Schema,
  SchemaReferences,
} from "../../src/lib/schema/subschemas.ts";
import { componentPath } from "../../src/lib/schema/variant.ts";
import { collectionComponents } from "../../src/model/collection-components.ts";
import { readDefinition } from "../../src/model/read-definition.ts";
import fc from "../fast-check.ts";
import type { Json, JsonObject } from "../http/schema.ts";
import { runs } from "../seeds.ts";
import { fields, root } from "./random-schema.ts";
import { isValidByReference } from "./reference-validator.ts";

const directions: readonly Direction[] = ["request", "response"];

const subschemas = (schema: Schema) =>
  [...allSchemas({ path: [], schema })].map(({ schema: inner, path }) => ({ inner, path }));

const findIn = (schema: Schema): Find => {
  const references = new SchemaReferences(schema);
  return (reference) => references.find(reference)?.schema;
};

const isUsable = (schema: ObjectSchema): boolean =>
  "preconditions" in readDefinition(JSON.stringify({ schema }));

/** The schemas of the OpenAPI document in one direction, with references within one schema. */
function published(schema: ObjectSchema, direction: Direction): ObjectSchema {
  const [{ schemas = {} } = {}] = collectionComponents([{ name: "things", schema }]);
  const find: Find = (reference) => schemas[reference.slice(componentPath.length)];
  const parts = Object.entries(schemas).map(([name, one]) => [
    name,
    portableSchema(one, direction, find),
  ]);
  const $ref = `${componentPath}${direction === "request" ? "ThingsDraft" : "Things"}`;
  const text = JSON.stringify({ $ref, $defs: Object.fromEntries(parts) });
  return JSON.parse(text.replaceAll(componentPath, "#/$defs/"));
}

const time = "2026-03-01T12:00:00Z";
/** What the server adds to the fields of a resource. */
const serverMembers = { id: "1", createdAt: time, updatedAt: time };

describe("the portable form of a random schema", () => {
  it("accepts every value that the schema accepts", () => {
    let accepted = 0;
    fc.assert(
      fc.property(root, fc.array(fields, { minLength: 4, maxLength: 4 }), (schema, documents) => {
        const given = JSON.parse(JSON.stringify(schema));
        if (!isUsable(given)) return;
        for (const document of documents.map((each) => JSON.parse(JSON.stringify(each)))) {
          if (!isValidByReference(given, document)) continue;
          accepted++;
          const sent = published(given, "request");
          assert.ok(isValidByReference(sent, document), JSON.stringify(sent));
          const read = published(given, "response");
          const resource = { ...document, ...serverMembers };
          assert.ok(isValidByReference(read, resource), JSON.stringify(read));
        }
      }),
      { numRuns: runs(40, 10_000) },
    );
    assert.ok(accepted > 20, `${accepted}`);
  });

  it("has no boolean schema, no enum without a type, and no object that is silent about others", () => {
    fc.assert(
      fc.property(root, (schema) => {
        for (const direction of directions) {
          for (const { inner, path } of subschemas(published(schema, direction))) {
            const isClosing = path.at(-1) === "additionalProperties" && direction === "request";
            if (!isObjectSchema(inner)) {
              assert.ok(inner === false && isClosing, JSON.stringify([direction, path]));
              continue;
            }
            assert.ok(!Object.hasOwn(inner, "const"));
            assert.ok(!Object.hasOwn(inner, "allOf"));
            if (!Array.isArray(inner.enum)) continue;
            assert.equal(inner.type, "string");
            assert.ok(inner.enum.every((value) => typeof value === "string"));
          }
        }
      }),
      { numRuns: runs(40, 10_000) },
    );
  });
});

describe("the published form", () => {
  const isSent = (schema: ObjectSchema, document: JsonObject): boolean => {
    assert.ok(isUsable(schema) && isValidByReference(schema, document));
    return isValidByReference(published(schema, "request"), document);
  };
  const several = { type: ["boolean", "string"] };
  const ab = { properties: { a: {} } };

  it("accepts members and items that a keyword evaluates which it leaves out", () => {
    const closed = { unevaluatedProperties: false };
    assert.ok(isSent({ ...closed, if: { properties: { b: several } } }, { b: "" }));
    const typed = { type: ["object", "array"], properties: { b: {} } };
    assert.ok(isSent({ ...closed, allOf: [typed] }, { b: "" }));
    assert.ok(isSent({ ...closed, $ref: "#/$defs/one", $defs: { one: typed } }, { b: "" }));
    const a = { unevaluatedItems: false, if: { prefixItems: [several] } };
    assert.ok(isSent({ properties: { a } }, { a: [""] }));
  });

  it("still closes an object of which it leaves nothing out", () => {
    const sent = published(
      { ...ab, allOf: [{ not: several }], unevaluatedProperties: false },
      "request",
    );
    assert.ok(!isValidByReference(sent, { b: 1 }));
  });

  it("leaves out what must not be where a part of it evaluates more", () => {
    const $defs = { one: ab, list: { type: "array", prefixItems: [{}] } };
    const not = { $ref: "#/$defs/one", unevaluatedProperties: false };
    assert.ok(isSent({ not, $defs }, { b: 1 }));
    const a = { not: { $ref: "#/$defs/list", unevaluatedItems: false } };
    assert.ok(isSent({ properties: { a }, $defs }, { a: [1, 2] }));
  });

  it("has no choice in a resource where every value is one of it", () => {
    for (const choice of [{ anyOf: [{ required: ["b"] }, true] }, { oneOf: [true, false] }])
      assert.ok(isValidByReference(published(choice, "response"), serverMembers));
  });

  it("leads to an anchor in a part that it leaves out", () => {
    const schema = { not: { $anchor: "named", required: ["b"], properties: { b: several } } };
    const member = { ...schema, properties: { a: { $ref: "#named" } } };
    assert.ok(isSent(member, { a: { b: "" } }));
    assert.ok(!isValidByReference(published(member, "request"), { a: {} }));
  });
});

describe("the portable form", () => {
  const request = (schema: Schema) => portableSchema(schema, "request", findIn(schema));
  const response = (schema: Schema) => portableSchema(schema, "response", findIn(schema));

  it("names the type of an enum, and keeps only texts as an enum", () => {
    assert.deepEqual(request({ enum: ["a", "b"] }), { type: "string", enum: ["a", "b"] });
    assert.deepEqual(request({ const: "a" }), { type: "string", enum: ["a"] });
    assert.deepEqual(request({ enum: ["a", null] }), {
      anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }],
    });
    assert.deepEqual(request({ description: "Size.", enum: [1, 2, 3] }), {
      type: "integer",
      format: "int64",
      minimum: 1,
      maximum: 3,
      description: "Size. One of 1, 2, 3.",
    });
    assert.deepEqual(request({ enum: [true, false] }), { type: "boolean" });
    assert.deepEqual(request({ enum: [true] }), { type: "boolean", description: "One of true." });
    assert.deepEqual(request({ enum: ["a", 1] }), { description: 'One of "a", 1.' });
  });

  it("has an enum where the values give names, also of a choice of constants", () => {
    const tone = { oneOf: [{ const: "soft", title: "Quiet" }, { const: "loud" }] };
    assert.deepEqual(request(tone), { type: "string", enum: ["soft", "loud"] });
    const level = { anyOf: [{ const: 1 }, { enum: [2, 5] }, { type: "null" }] };
    const range = { type: "integer", format: "int64", minimum: 1, maximum: 5 };
    const description = "One of 1, 2, 5.";
    assert.deepEqual(request(level), { description, anyOf: [range, { type: "null" }] });
    const mixed = { oneOf: [{ const: "a" }, { type: "integer" }] };
    assert.deepEqual(response(mixed).oneOf, [
      { type: "string", enum: ["a"] },
      { type: "integer", format: "int64" },
    ]);
    for (const [one, other] of [
      ["A", "a"],
      ["in print", "in-print"],
    ] as const)
      assert.deepEqual(request({ enum: [one, other, ""] }), {
        type: "string",
        description: `One of "${one}", "${other}", "".`,
      });
    assert.deepEqual(request({ not: { enum: ["A", "a"] } }), {});
    assert.deepEqual(request({ enum: ["<", ">", "<="] }).enum, ["<", ">", "<="]);
  });

  it("has the members that patterns name, as other members", () => {
    const closed = { patternProperties: { "^n": { type: "string" } }, additionalProperties: false };
    for (const portable of [request, response])
      assert.deepEqual(portable(closed).additionalProperties, { type: "string" });
    const patternProperties = { ...closed.patternProperties, "^t": {} };
    assert.deepEqual(request({ ...closed, patternProperties }).additionalProperties, {});
    assert.deepEqual(request({ not: closed }), {});
  });

  it("is open in responses, and has no default there", () => {
    const schema = {
      properties: { a: { type: "string", default: "x" } },
      additionalProperties: false,
    };
    const a = { type: "string" };
    assert.deepEqual(response(schema), { properties: { a }, additionalProperties: {} });
    assert.deepEqual(request(schema), schema);
  });

  it("has no default that is an object or an array", () => {
    assert.deepEqual(request({ type: "array", default: [] }), { type: "array", items: {} });
    assert.deepEqual(request({ type: "object", default: {} }), {
      type: "object",
      additionalProperties: {},
    });
  });

  it("says nothing about a value of several types", () => {
    assert.deepEqual(request({ type: ["number", "string"], minimum: 1 }), {});
    assert.deepEqual(request({ not: { type: ["number", "string"] } }), {});
    const items = { type: "string" };
    const described = { description: "One or several.", examples: ["a", ["b"]] };
    const schema = { type: ["string", "array", "null"], items, minLength: 1, ...described };
    assert.deepEqual(request(schema), described);
    assert.deepEqual(request({ not: schema }), {});
    const list = { type: ["array", "null"], items };
    assert.deepEqual(request(list), list);
  });

  it("says that an array has any items, unless that would count as evaluating them", () => {
    assert.deepEqual(response({ type: "array" }), { type: "array", items: {} });
    const closed = { type: "array", prefixItems: [{ type: "string" }], unevaluatedItems: false };
    assert.equal(Object.hasOwn(request(closed), "items"), false);
  });

  it("has formats of 64 bits, and none of its own where there is one", () => {
    assert.deepEqual(response({ type: "integer" }), { type: "integer", format: "int64" });
    assert.deepEqual(request({ type: ["number", "null"] }).format, "double");
    assert.deepEqual(request({ type: "integer", format: "int32" }).format, "int32");
  });

  it("has bounds for integers that are sent, which JavaScript would round beyond", () => {
    const { minimum, maximum } = request({ type: "integer", minimum: 1 });
    assert.deepEqual([minimum, maximum], [1, Number.MAX_SAFE_INTEGER]);
    assert.equal(request({ type: "integer", exclusiveMinimum: 1 }).minimum, undefined);
    assert.equal(request({ type: "number" }).minimum, undefined);
  });

  it("writes allOf as one schema", () => {
    const named = { type: "object", required: ["a"], properties: { a: { type: "string" } } };
    const $ref = "#/$defs/named";
    const schemaOf = (...allOf: readonly Schema[]) =>
      request({ properties: { one: { allOf } }, $defs: { named } }).properties;
    const a = { type: "string" };
    const open = { type: "object", additionalProperties: {} };
    const more = { required: ["b"], properties: { b: { type: "boolean" } } };
    assert.deepEqual(schemaOf({ $ref }, more, { minProperties: 1 }, { minProperties: 2 }), {
      one: {
        ...open,
        required: ["a", "b"],
        properties: { a, b: { type: "boolean" } },
        minProperties: 2,
      },
    });
    assert.deepEqual(schemaOf({ $ref }, { description: "Who." }), {
      one: { $ref, description: "Who." },
    });
    const integer = { type: "integer", format: "int64", minimum: 2, maximum: 5 };
    assert.deepEqual(
      schemaOf({ type: "number", minimum: 1 }, { type: "integer" }, { minimum: 2, maximum: 5 }),
      {
        one: integer,
      },
    );
    // Both say something of one member.
    const short = { properties: { a: { maxLength: 5 } } };
    assert.deepEqual(schemaOf({ $ref }, short), {
      one: { ...open, required: ["a"], properties: { a: { ...a, maxLength: 5 } } },
    });
    // The second pattern is left out: it cannot be said of the same schema.
    assert.deepEqual(schemaOf({ pattern: "a" }, { pattern: "b" }), { one: { pattern: "a" } });
  });

  it("ends a recursion through allOf", () => {
    const tree = { allOf: [{ $ref: "#/$defs/tree" }, { properties: { b: {} } }] };
    const $defs = { tree: { properties: { left: tree } } };
    const left = { properties: { b: {} }, additionalProperties: {} };
    assert.deepEqual(request({ properties: { tree }, $defs }).properties, {
      tree: { properties: { left, b: {} }, additionalProperties: {} },
    });
    // Each level has the next one twice.
    const levels = Array.from({ length: 30 }, (_, index) => {
      const allOf = [{ $ref: `#/$defs/l${index + 1}` }, { minProperties: 1 }];
      return [`l${index}`, { properties: { a: { allOf }, b: { allOf } } }];
    });
    const schema = { allOf: [{ $ref: "#/$defs/l0" }, {}], $defs: Object.fromEntries(levels) };
    assert.ok(JSON.stringify(request({ ...schema, title: "a" })).length < 100_000);
  });

  it("leaves out a member that would have the name of another one", () => {
    const namesOf = (...names: readonly string[]) => {
      const properties = Object.fromEntries(names.map((name) => [name, {}]));
      return Object.keys(request({ properties }).properties ?? {});
    };
    assert.deepEqual(namesOf("$schema", "schema", "$other"), ["schema", "$other"]);
    assert.deepEqual(namesOf("_owner", "owner"), ["owner"]);
    assert.deepEqual(namesOf("firstName", "first_name", "größe", "grösse"), [
      ...["firstName", "größe", "grösse"],
    ]);
    const closed = { additionalProperties: false, required: ["_a", "a"] };
    const schema = { ...closed, properties: { _a: {}, a: {} } };
    assert.deepEqual(request(schema), {
      ...{ required: ["a"], properties: { a: {} }, additionalProperties: {} },
    });
    assert.deepEqual(request({ not: schema }), {});
    const sent = request({ allOf: [schema, { minProperties: 1 }], unevaluatedProperties: false });
    assert.equal(Object.hasOwn(sent, "unevaluatedProperties"), false);
  });
});

/** Makes the merge patch that turns one value into the other (RFC 7396). */
function difference(one: Json, other: Json): Json {
  if (!isPlainObject(one) || !isPlainObject(other)) return other;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  const changed = [...names].filter(
    (name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]),
  );
  return Object.fromEntries(
    changed.map((name) => [
      name,
      Object.hasOwn(other, name) ? difference(own(one, name), own(other, name)) : null,
    ]),
  );
}

const isPlainObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const own = (value: JsonObject, name: string): Json =>
  Object.hasOwn(value, name) ? (value[name] ?? null) : null;

/** A patch cannot set a member to null. */
const hasNull = (value: Json): boolean =>
  value === null || (isPlainObject(value) && Object.values(value).some(hasNull));

function patchesOf(schema: ObjectSchema) {
  const [{ schemas = {} } = {}] = collectionComponents([{ name: "things", schema }]);
  const patches = new MergePatchSchemas(schemas);
  const patch = patches.patchOf(schemas.ThingsDraft ?? {});
  const made: Readonly<Record<string, ObjectSchema>> = {
    ThingsPatch: patch,
    ...patches.components,
  };
  const text = JSON.stringify({ ...patch, $defs: { ...schemas, ...made } });
  return { made, standalone: JSON.parse(text.replaceAll(componentPath, "#/$defs/")) };
}

describe("the merge patch of a random schema", () => {
  it("accepts every change from one valid value to another", () => {
    let checked = 0;
    fc.assert(
      fc.property(root, fc.array(fields, { minLength: 6, maxLength: 6 }), (schema, documents) => {
        const given = JSON.parse(JSON.stringify(schema));
        if (!isUsable(given)) return;
        const { standalone } = patchesOf(given);
        const valid = documents
          .map((each) => JSON.parse(JSON.stringify(each)) as Json)
          .filter((each) => isValidByReference(given, each));
        for (const one of valid)
          for (const other of valid) {
            if (hasNull(other)) continue;
            checked++;
            const patch = difference(one, other);
            assert.ok(isValidByReference(standalone, patch), JSON.stringify(patch));
          }
      }),
      { numRuns: runs(40, 10_000) },
    );
    assert.ok(checked > 20, `${checked}`);
  });
});

describe("a merge patch", () => {
  const schema = {
    type: "object",
    required: ["name", "home"],
    properties: {
      name: { type: "string" },
      status: { enum: ["a", "b"], default: "a" },
      note: { type: ["string", "null"] },
      any: {},
      home: { $ref: "#/$defs/address" },
      homes: { type: "array", items: { $ref: "#/$defs/address" } },
    },
    additionalProperties: { type: "integer", default: 1 },
    $defs: {
      address: {
        type: "object",
        required: ["city"],
        properties: { city: { type: "string" }, land: { type: "string", default: "NL" } },
        additionalProperties: false,
      },
    },
  };
  const { made } = patchesOf(schema);
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  it("has no default, also behind references, and requires nothing but items", () => {
    for (const { inner } of Object.values(made).flatMap((one) => subschemas(one)))
      if (isObjectSchema(inner)) assert.ok(!Object.hasOwn(inner, "default"), JSON.stringify(inner));
    assert.deepEqual(Object.keys(made), ["ThingsPatch", "ThingsAddressPatch", "ThingsAddressItem"]);
    assert.equal(made.ThingsPatch?.required, undefined);
    assert.equal(made.ThingsAddressPatch?.required, undefined);
    assert.deepEqual(made.ThingsAddressItem?.required, ["city"]);
  });

  it("accepts items that a keyword evaluates which it leaves out", () => {
    const list = { if: { prefixItems: [true] }, unevaluatedItems: false };
    const { standalone } = patchesOf({ properties: { list } });
    assert.ok(isValidByReference(standalone, { list: [1] }));
  });

  it("takes null for what can be removed, once", () => {
    const { properties, additionalProperties } = made.ThingsPatch ?? {};
    assert.deepEqual(properties, {
      name: { type: "string" },
      status: { anyOf: [{ enum: ["a", "b"] }, { type: "null" }] },
      note: { type: ["string", "null"] },
      any: {},
      home: reference("ThingsAddressPatch"),
      homes: {
        anyOf: [{ type: "array", items: reference("ThingsAddressItem") }, { type: "null" }],
      },
    });
    assert.deepEqual(additionalProperties, { anyOf: [{ type: "integer" }, { type: "null" }] });
    assert.equal(made.ThingsAddressPatch?.additionalProperties, false);
  });
});
