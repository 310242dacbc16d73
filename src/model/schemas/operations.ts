// The JSON Schema of operations, a patch that computes with the stored values.

import { invalidMessage } from "../../lib/schema/subschemas.ts";

export const operationLimits = {
  /** The limit of fields per kind of operation. */
  maxFields: 100,
} as const;

/** The media type of a PATCH with operations. */
export const operationsType = "application/vnd.restante.operations+json";

const byField = <const V extends object>(description: string, value: V) =>
  ({
    type: "object",
    description,
    minProperties: 1,
    maxProperties: operationLimits.maxFields,
    additionalProperties: value,
  }) as const;

const someItems = { type: "array", minItems: 1 } as const;

const ordered = {
  type: ["number", "string"],
  [invalidMessage]: "must be a number or a text",
} as const;

export const operationsSchema = {
  type: "object",
  description:
    "Operations on fields, applied to the current state in one step. A field is a name, or names with dots between them: `address.visits`. `remove` comes before `append`, and `increment` before `min` and `max`.",
  minProperties: 1,
  properties: {
    increment: byField("Adds a number, exactly. A missing field counts as 0.", { type: "number" }),
    append: byField("Adds items at the end of an array. A missing array is created.", someItems),
    remove: byField("Removes all items of an array that are equal to one of these.", someItems),
    min: byField(
      "Sets the smaller of the current and this value: a number, a text or a time.",
      ordered,
    ),
    max: byField(
      "Sets the larger of the current and this value: a number, a text or a time.",
      ordered,
    ),
  },
  additionalProperties: false,
  examples: [{ increment: { stock: -1 }, append: { tags: ["sold"] }, remove: { tags: ["new"] } }],
} as const;
