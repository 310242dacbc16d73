// Random JSON Schemas with every keyword that decides whether a value is valid, and values for them.

import { allSchemas, isObjectSchema, type ObjectSchema } from "../../src/lib/schema/subschemas.ts";
import fc from "../fast-check.ts";

const name = fc.constantFrom("a", "b", "c", "_a", "constructor");
const number = fc.constantFrom(-1.5, 0, 1, 2, 3, 10);
const count = fc.nat(3);
const text = fc.constantFrom("", "a", "b", "ab", "abc", "💙", "a@b.nl", "2026-03-01", "127.0.0.1");
const scalar = fc.oneof(number, text, fc.constantFrom(true, false, null));
const oneType = fc.constantFrom(
  ...["string", "number", "integer", "boolean", "null", "object", "array"],
);
const flag = fc.boolean();

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    scalar,
    fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
}));

/** The fields of a resource. */
export const fields = fc.dictionary(name, value, { maxKeys: 4 });

type Keywords = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** Keywords in groups that belong together. A schema has a few groups, and some keywords of each. */
function keywordGroups(schema: fc.Arbitrary<unknown>): readonly Keywords[] {
  const schemas = fc.array(schema, { minLength: 1, maxLength: 3 });
  const named = fc.dictionary(name, schema, { maxKeys: 3 });
  const names = fc.uniqueArray(name, { maxLength: 2 });
  const patterned = fc.dictionary(fc.constantFrom("^a", "b$", "^co"), schema, { maxKeys: 2 });
  const rest = fc.oneof(fc.constant(false), schema);
  return [
    { type: fc.oneof(oneType, fc.uniqueArray(oneType, { minLength: 1, maxLength: 3 })) },
    { enum: fc.array(value, { minLength: 1, maxLength: 3 }), const: value },
    { minLength: count, maxLength: count, pattern: fc.constantFrom("^a", "b$", "^.$") },
    { format: fc.constantFrom("email", "date", "ipv4", "uuid") },
    { minimum: number, maximum: number, multipleOf: fc.constantFrom(0.5, 1, 2, 3) },
    { exclusiveMinimum: number, exclusiveMaximum: number },
    { properties: named, required: names },
    { properties: named, patternProperties: patterned, additionalProperties: rest },
    { properties: named, unevaluatedProperties: rest },
    { propertyNames: schema, minProperties: count, maxProperties: count },
    { dependentRequired: fc.dictionary(name, names, { maxKeys: 2 }), dependentSchemas: named },
    { prefixItems: schemas, items: schema },
    { prefixItems: schemas, unevaluatedItems: rest },
    { minItems: count, maxItems: count, uniqueItems: flag },
    { contains: schema, minContains: count, maxContains: count },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
    { if: schema, then: schema, else: schema },
    { allOf: schemas },
    { anyOf: schemas },
    { oneOf: schemas },
    { not: schema },
    { $ref: fc.constantFrom("#", "#/$defs/a", "#named", "#/properties/a") },
    { title: text, description: text, $comment: text, deprecated: flag },
    { examples: fc.array(value, { maxLength: 1 }), contentSchema: schema },
    { contentEncoding: text, contentMediaType: text },
  ];
}

const { schema, whole } = fc.letrec<{ schema: unknown; whole: ObjectSchema }>((tie) => {
  const parts = keywordGroups(tie("schema")).map((each) => fc.record(each, { requiredKeys: [] }));
  return {
    schema: fc.oneof({ maxDepth: 4, depthSize: "small" }, fc.boolean(), tie("whole")),
    whole: fc
      .array(fc.oneof(...parts), { minLength: 1, maxLength: 3 })
      .map((given) => Object.assign({}, ...given)),
  };
});

/** Puts the anchor into one of the schemas at any depth, also where it only says what is not. */
function withAnchor(given: ObjectSchema, place: number): ObjectSchema {
  const root: ObjectSchema = structuredClone(given);
  const inner = [...allSchemas({ path: [], schema: root })]
    .map((each) => each.schema)
    .filter(isObjectSchema);
  Object.assign(inner[place % inner.length] ?? root, { $anchor: "named" });
  return root;
}

/** The schema of a definition. Its references lead to its parts. */
export const root: fc.Arbitrary<ObjectSchema> = fc
  .tuple(whole, schema, schema, fc.nat(1_000))
  .map(([given, member, a, place]) => {
    const properties = { ...(given.properties as object | undefined), a: member };
    return withAnchor({ ...given, type: "object", $defs: { a }, properties }, place);
  });

export const generatedKeywords: ReadonlySet<string> = new Set([
  ...["$defs", "$anchor"],
  ...keywordGroups(fc.boolean()).flatMap((group) => Object.keys(group)),
]);
