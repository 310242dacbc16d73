// The JSON Schemas of grants and of the boundary, which a definition contains.

import type { FromSchema } from "../lib/schema/from-schema.ts";
import { invalidMessage, unknownMemberMessage } from "../lib/schema/subschemas.ts";
import { scopePattern } from "./token.ts";

export const grantLimits = {
  maxGrants: 16,
  maxNameChars: 100,
  maxFields: 64,
  maxFieldChars: 256,
} as const;

/** The name of a role, and of a set. */
export const roleName = /^[a-z][a-z0-9_-]{0,62}$/;

export const ruleConditionSchema = {
  type: "object",
  additionalProperties: {},
  description:
    "Conditions as in the `where` of a list. `$me`, `$me.roles`, `$my.{set}` and `$now` stand for values of the caller, and the field `$owner` for the owner. `$$` begins a text that begins with `$`.",
} as const;

const fieldPath = {
  type: "string",
  maxLength: grantLimits.maxFieldChars,
  pattern: "^[^.]+(?:\\.[^.]+)*$",
  [invalidMessage]: "must be names separated by single dots, such as address.city",
} as const;

export const grantSchema = {
  type: "object",
  required: ["name", "to"],
  properties: {
    name: {
      type: "string",
      minLength: 1,
      maxLength: grantLimits.maxNameChars,
      description: "For administrators; callers never see it.",
    },
    to: {
      description:
        "Whom it is for: `everyone`; `token`, callers with the scope of the collection and verb; `owner`, callers with that scope, on resources that their subject owns; callers with a scope; callers with a role.",
      anyOf: [
        { type: "string", enum: ["everyone", "token", "owner"] },
        {
          type: "object",
          required: ["scope"],
          properties: { scope: { type: "string", pattern: scopePattern.source } },
          additionalProperties: false,
        },
        {
          type: "object",
          required: ["role"],
          properties: { role: { type: "string", pattern: roleName.source } },
          additionalProperties: false,
        },
      ],
      [invalidMessage]: 'must be "everyone", "token", "owner", {"scope": "…"} or {"role": "…"}',
    },
    where: { ...ruleConditionSchema, description: "What must hold before." },
    check: { ...ruleConditionSchema, description: "What must hold after a write." },
    fields: {
      type: "array",
      items: fieldPath,
      maxItems: grantLimits.maxFields,
      description: "The fields that may be read, or changed. Without it, all.",
    },
    set: {
      type: "object",
      additionalProperties: {},
      description: "Values that a write gets; nobody can send others.",
    },
  },
  additionalProperties: false,
  [unknownMemberMessage]: () =>
    "unknown member; a grant has name, to, where, check, fields and set",
} as const;

export type Grant = FromSchema<typeof grantSchema>;
