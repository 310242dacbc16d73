// The JSON Schema of the body of a QUERY.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { unknownMemberMessage } from "../../lib/schema/subschemas.ts";
import { componentPath } from "../../lib/schema/variant.ts";
import { aggregateLimits } from "../query/aggregate.ts";
import { listRequestLimits, pageLimits } from "../query/list-request.ts";
import { suggestParameter } from "../query/near-miss.ts";
import type { Operator } from "../query/operators.ts";

const operand = { type: ["string", "number", "boolean"] } as const;
const text = (description: string) => ({ type: "string", description }) as const;

/** A reference, because the schema contains itself. */
const nestedWhere = { $ref: `${componentPath}Where` } as const;

/** One schema for all types, because generators of clients understand it better than a choice. */
const testSchema = {
  type: ["string", "number", "boolean", "object"],
  description: "The value of the field, or operators that must all hold.",
  minProperties: 1,
  properties: {
    eq: operand,
    ne: operand,
    lt: operand,
    lte: operand,
    gt: operand,
    gte: operand,
    in: { type: "array", items: operand, minItems: 1, maxItems: listRequestLimits.maxValues },
    exists: { type: "boolean", description: "Whether there is a value." },
    like: text("`*` stands for any characters."),
    startsWith: text("What the text starts with."),
    contains: text("What the text contains."),
    icontains: text("What the text contains, in any case."),
    ieq: text("What the text equals, in any case."),
    /** Operators if the elements are strings, numbers or booleans. */
    some: nestedWhere,
  } satisfies Record<Operator | "some", object>,
  additionalProperties: false,
} as const;

const partsSchema = (description: string) =>
  ({
    type: "array",
    description,
    items: nestedWhere,
    minItems: 1,
    maxItems: listRequestLimits.maxConditions,
  }) as const;

/** The errors in it are found while the query is built, because they depend on the definition. */
export const whereSchema = {
  type: "object",
  description: `A value or operators for each field, with dots in the name of a nested field; \`lines[].sku\` is the field of any element of an array, and \`customer.country\` that of the resource which the reference \`customer\` names. All must hold. At most ${listRequestLimits.maxConditions} conditions, nested up to ${listRequestLimits.maxWhereDepth} deep.`,
  properties: {
    $or: partsSchema("At least one must hold."),
    $and: partsSchema("All must hold."),
    $not: nestedWhere,
  },
  maxProperties: listRequestLimits.maxConditions,
  additionalProperties: testSchema,
} as const;

const names = (description: string, maxItems: number) =>
  ({
    type: ["string", "array"],
    description,
    items: { type: "string" },
    minItems: 1,
    maxItems,
  }) as const;

const properties = {
  where: whereSchema,
  q: { type: "string", description: "As the parameter `q`." },
  sort: names(
    "Field names, or one text with commas; `-` for descending order.",
    listRequestLimits.maxSortings,
  ),
  fields: names("Field names, or one text with commas.", listRequestLimits.maxFields),
  expand: names("The paths of references, or one text with commas.", listRequestLimits.maxExpanded),
  page: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  limit: { type: "integer", minimum: 1, maximum: pageLimits.maxLimit },
  cursor: { type: "string", description: "As the parameter `cursor`." },
  total: { type: "string", enum: ["exact", "none"] },
  aggregate: names(
    "Figures to compute, or one text with commas: `count`, `sum(field)`, `avg(field)`, `min(field)`, `max(field)`, `distinct(field)`.",
    aggregateLimits.maxAggregates,
  ),
  by: names(
    "Fields to group by, or one text with commas: `status`, `month(createdAt)`, `range(price,0,10,100)`.",
    aggregateLimits.maxGroupings,
  ),
  timezone: { type: "string", description: "The time zone of `by`, such as Europe/Berlin." },
} as const;

export const querySchema = {
  type: "object",
  description: "A list request, as the parameters of a GET.",
  properties,
  additionalProperties: false,
  [unknownMemberMessage]: (name: string) => {
    const suggestion = suggestParameter(name);
    if (suggestion?.startsWith("since"))
      return "there is no such member; changes are read by a GET with since in its URL";
    return suggestion === undefined
      ? `there is no such member; the members are: ${Object.keys(properties).join(", ")}`
      : `there is no such member; use ${suggestion}`;
  },
  examples: [{ where: { age: { gte: 18 }, city: "Bern" }, sort: ["-age"], limit: 50 }],
} as const;

/** What is checked before the query is built. */
export const queryBodySchema = {
  ...querySchema,
  properties: { ...properties, where: { type: "object" } },
} as const;

export type QueryBody = FromSchema<typeof queryBodySchema, "out">;
