// The JSON Schemas of actions, and of an answer whose work continues.

import type { FromSchema } from "../lib/schema/from-schema.ts";
import { invalidMessage, unknownMemberMessage } from "../lib/schema/subschemas.ts";
import { definitionLimits } from "./definition-schema.ts";
import { actionScope } from "./token.ts";

const actionName = /^[a-z0-9][a-z0-9-]{0,62}$/;
export const isActionName = (name: string): boolean => actionName.test(name);

export const actionLimits = {
  defaultTimeoutMs: 30_000,
  /** The runtimes close an idle connection soon after. Longer work should answer 202. */
  maxTimeoutMs: 100_000,
} as const;

export const actionNameSchema = { type: "string", pattern: actionName.source } as const;

const { maxDescriptionChars } = definitionLimits;
const { defaultTimeoutMs, maxTimeoutMs } = actionLimits;

/** The members that both the module of an action and the API have. */
const described = {
  description: {
    type: "string",
    pattern: "\\S",
    maxLength: maxDescriptionChars,
    [invalidMessage]: `must be text of 1 to ${maxDescriptionChars} characters`,
  },
  timeoutMs: {
    type: "integer",
    minimum: 1,
    maximum: maxTimeoutMs,
    [invalidMessage]: `must be a whole number from 1 to ${maxTimeoutMs}`,
  },
  input: { type: "object", description: "A JSON Schema." },
  output: { type: "object", description: "A JSON Schema, if there is one." },
} as const;

/** What the module of an action exports, besides its function. */
export const actionDefinitionSchema = {
  type: "object",
  required: ["description", "input"],
  properties: {
    ...described,
    timeoutMs: { ...described.timeoutMs, default: defaultTimeoutMs },
  },
  additionalProperties: false,
  [unknownMemberMessage]: () =>
    "unknown member; allowed members: description, input, output, timeoutMs, run",
} as const;

/** The members of a valid action, besides its name and its function. */
export type ActionMembers = FromSchema<typeof actionDefinitionSchema>;

export const actionSchema = {
  type: "object",
  required: ["name", "description", "url", "scope", "timeoutMs", "input"],
  properties: {
    name: actionNameSchema,
    url: { type: "string", format: "uri-reference" },
    scope: { type: "string" },
    ...described,
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
  { name, description, input, output, timeoutMs }: ActionMembers & { readonly name: string },
): FromSchema<typeof actionSchema> => ({
  name,
  description,
  url: `${base}/-/actions/${name}`,
  scope: actionScope(name),
  timeoutMs,
  input,
  ...(output && { output }),
});
