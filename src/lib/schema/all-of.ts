// Writes `allOf` as one schema: code generators merge few keywords, and reject a document with others.

import { isObjectSchema, type ObjectSchema, type Schema } from "./subschemas.ts";

type Combine = (one: unknown, other: unknown) => unknown;

const both: Combine = (one, other) =>
  one === false || other === false ? false : { allOf: [one, other] };
const larger: Combine = (one, other) => Math.max(Number(one), Number(other));
const smaller: Combine = (one, other) => Math.min(Number(one), Number(other));

function byName(one: unknown, other: unknown): unknown {
  const all = new Map(Object.entries(one as object));
  for (const [name, value] of Object.entries(other as object))
    all.set(name, all.has(name) ? both(all.get(name), value) : value);
  return Object.fromEntries(all);
}

/** The types that both allow; those of the first if there are none. */
function typesOfBoth(one: unknown, other: unknown): unknown {
  const [some, more] = [[one].flat(), [other].flat()];
  const allows = (list: readonly unknown[], type: unknown) =>
    list.includes(type) || (type === "integer" && list.includes("number"));
  const types = new Set([
    ...some.filter((type) => allows(more, type)),
    ...more.filter((type) => allows(some, type)),
  ]);
  const [first = one] = types;
  return types.size > 1 ? [...types] : first;
}

/** How two values of a keyword become one. Of other keywords the first value stays. */
const combined = new Map<string, Combine>([
  ["properties", byName],
  ["patternProperties", byName],
  ["additionalProperties", both],
  ["required", (one, other) => [...new Set([one, other].flat())]],
  ["type", typesOfBoth],
  ...["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"].map(
    (keyword) => [keyword, larger] as const,
  ),
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"].map(
    (keyword) => [keyword, smaller] as const,
  ),
]);

/** Keywords that mean something together: all of them come from one schema. */
const groups = [
  ["if", "then", "else"],
  ["contains", "minContains", "maxContains"],
  ["prefixItems", "items"],
];

/** Keywords that say nothing of which values are valid. */
const annotations = new Set(
  "title description examples default deprecated readOnly writeOnly $comment".split(" "),
);

export const isAnnotation = (schema: ObjectSchema): boolean =>
  Object.keys(schema).every((keyword) => annotations.has(keyword));

/**
 * Returns a schema without `allOf` that accepts at least the same values; schemas in it may have one.
 * `inline` returns the target of a reference, or undefined to accept any value instead.
 */
export function withoutAllOf(
  schema: ObjectSchema,
  inline: (reference: string) => Schema | undefined,
): ObjectSchema {
  if (!Array.isArray(schema.allOf)) return schema;
  const parts = partsOf(schema);
  const [first, ...more] = parts.filter((part) => !isAnnotation(part));
  // One type with words around it keeps its name.
  if (more.length === 0) return Object.assign({}, first, ...parts.toReversed());
  let isComplete = true;
  const inlined = (part: ObjectSchema): readonly ObjectSchema[] => {
    if (typeof part.$ref !== "string") return [part];
    const target = inline(part.$ref);
    if (target === undefined) isComplete = false;
    return partsOf(target ?? true)
      .map(({ title: _, description: __, examples: ___, ...constraints }) => constraints)
      .flatMap(inlined);
  };
  const all = parts.flatMap(inlined).reduce(joined, {});
  return isComplete ? all : withoutUnevaluated(all);
}

/** For a schema of which something is left out that may evaluate members or items. */
export const withoutUnevaluated = ({
  unevaluatedProperties: _,
  unevaluatedItems: __,
  ...rest
}: ObjectSchema): ObjectSchema => rest;

/** The schemas that must all match. A `$ref` is one of them, without other keywords. */
function partsOf(schema: Schema): readonly ObjectSchema[] {
  if (!isObjectSchema(schema)) return schema ? [] : [{ not: {} }];
  const { $ref, allOf, ...own } = schema;
  const all = (Array.isArray(allOf) ? allOf : []) as readonly Schema[];
  return [own, ...($ref === undefined ? [] : [{ $ref }]), ...all.flatMap(partsOf)];
}

function joined(one: ObjectSchema, other: ObjectSchema): ObjectSchema {
  const result: Record<string, unknown> = { ...one };
  let isComplete = true;
  for (const [keyword, value] of Object.entries(other)) {
    const combine = combined.get(keyword);
    const group = groups.find((some) => some.includes(keyword)) ?? [keyword];
    if (!group.some((each) => Object.hasOwn(one, each))) result[keyword] = value;
    else if (combine !== undefined) result[keyword] = combine(one[keyword], value);
    else if (!annotations.has(keyword)) isComplete = false;
  }
  return isComplete ? result : withoutUnevaluated(result);
}
