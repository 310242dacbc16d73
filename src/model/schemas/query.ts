// The JSON Schema of the body of a QUERY.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { unknownMemberMessage } from "../../lib/schema/subschemas.ts";
import { listRequestLimits, operators, pageLimits } from "../query/list-request.ts";
import { suggestParameter } from "../query/near-miss.ts";

const operand = { type: ["string", "number", "boolean"] } as const;

/** One schema for all types, because a choice between schemas is slow to explain for a long body. */
const filterSchema = {
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
    like: { type: "string", description: "`*` stands for any characters." },
    exists: { type: "boolean", description: "Whether there is a value." },
  },
  additionalProperties: false,
  [unknownMemberMessage]: (name: string) =>
    `there is no operator "${name}"; the operators are: ${operators.join(", ")}`,
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
  where: {
    type: "object",
    description: "A value or operators for each field, with dots in the name of a nested field.",
    maxProperties: listRequestLimits.maxFilters,
    additionalProperties: filterSchema,
  },
  q: { type: "string", description: "As the parameter `q`." },
  sort: names(
    "Field names, or one text with commas; `-` for descending order.",
    listRequestLimits.maxSortings,
  ),
  fields: names("Field names, or one text with commas.", listRequestLimits.maxFields),
  page: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  limit: { type: "integer", minimum: 1, maximum: pageLimits.maxLimit },
  cursor: { type: "string", description: "As the parameter `cursor`." },
  total: { type: "string", enum: ["exact", "none"] },
} as const;

export const querySchema = {
  type: "object",
  description: "A list request, as the parameters of a GET.",
  properties,
  additionalProperties: false,
  [unknownMemberMessage]: (name: string) => {
    const suggestion = suggestParameter(name);
    return suggestion === undefined
      ? `there is no such member; the members are: ${Object.keys(properties).join(", ")}`
      : `there is no such member; use ${suggestion}`;
  },
  examples: [{ where: { age: { gte: 18 }, city: "Bern" }, sort: ["-age"], limit: 50 }],
} as const;

export type QueryBody = FromSchema<typeof querySchema, "out">;
