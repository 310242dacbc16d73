// The JSON Schemas of actions, and of an answer whose work continues.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { type Action, actionLimits, actionName } from "../action.ts";
import { actionScope } from "../token.ts";

export const actionNameSchema = { type: "string", pattern: actionName.source } as const;

export const actionSchema = {
  type: "object",
  required: ["name", "description", "url", "scope", "timeoutMs", "input"],
  properties: {
    name: actionNameSchema,
    description: { type: "string" },
    url: { type: "string", format: "uri-reference" },
    scope: { type: "string" },
    timeoutMs: { type: "integer", minimum: 1, maximum: actionLimits.maxTimeoutMs },
    input: { type: "object", description: "A JSON Schema." },
    output: { type: "object", description: "A JSON Schema, if there is one." },
  },
  additionalProperties: false,
} as const;

export const actionListSchema = {
  type: "object",
  required: ["data"],
  properties: { data: { type: "array", items: actionSchema } },
  additionalProperties: false,
} as const;

export const acceptedSchema = {
  type: "object",
  required: ["location"],
  properties: { location: { type: "string", format: "uri-reference" } },
  additionalProperties: false,
  examples: [{ location: "/outbox/019a8448-5a3c-7c31-9d41-6f2f3f0c9a11" }],
} as const;

/** Returns an action as the API shows it. */
export const actionView = (
  base: string,
  { name, description, input, output, timeoutMs }: Action,
): FromSchema<typeof actionSchema> => ({
  name,
  description,
  url: `${base}/-/actions/${name}`,
  scope: actionScope(name),
  timeoutMs,
  input,
  ...(output && { output }),
});
