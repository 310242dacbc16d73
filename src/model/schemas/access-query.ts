// The JSON Schemas of questions about access and of their answers, and of a caller's own rights.

import { ErrorReport } from "../../lib/json/error-report.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { unknownMemberMessage } from "../../lib/schema/subschemas.ts";
import { roleName } from "../grant-schema.ts";
import type { FieldError } from "../problem.ts";
import { scopePattern, subjectPattern, verbs } from "../token.ts";
import { errorDetailSchema } from "./problem.ts";
import { collectionNameSchema, resourceIdSchema } from "./resource.ts";

const limits = { maxRoles: 100, maxScopes: 100 } as const;

const scopes = {
  type: "array",
  items: { type: "string", pattern: scopePattern.source },
  maxItems: limits.maxScopes,
} as const;

const roles = {
  type: "array",
  items: { type: "string", pattern: roleName.source },
  maxItems: limits.maxRoles,
} as const;

const asked = {
  subject: {
    type: "string",
    pattern: subjectPattern.source,
    description: "Whose access it is; without it, that of callers without a token.",
  },
  roles: {
    ...roles,
    description:
      "The roles of the subject. Without `roles` and `scopes`, those of its valid tokens count.",
  },
  scopes: { ...scopes, description: "The scopes of the subject, besides those of its roles." },
  verb: { type: "string", enum: verbs },
  collection: collectionNameSchema,
  id: { ...resourceIdSchema, description: "The resource; needed for `update` and `delete`." },
  change: {
    type: "object",
    additionalProperties: {},
    description: "The fields that are created, or a merge patch of the resource.",
  },
} as const;

export const accessQuerySchema = {
  type: "object",
  description: "Whether a subject may do something.",
  required: ["verb", "collection"],
  properties: asked,
  additionalProperties: false,
  [unknownMemberMessage]: () => `unknown member; known members: ${Object.keys(asked).join(", ")}`,
  examples: [{ subject: "bob", verb: "update", collection: "posts", id: "1" }],
} as const;

export type AccessQuery = FromSchema<typeof accessQuerySchema>;

/** Returns all errors when the question is not valid. */
export function readAccessQuery(given: unknown): AccessQuery | readonly FieldError[] {
  const report = new ErrorReport();
  if (!checkValue(accessQuerySchema, given, report)) return report.errors;
  const { verb, id, change } = given;
  if (id === undefined && (verb === "update" || verb === "delete"))
    report.add(["id"], `is needed for ${verb}`);
  if (change !== undefined && (verb === "read" || verb === "delete"))
    report.add(["change"], "is for create and update");
  return report.errors.length === 0 ? given : report.errors;
}

export const conditionReportSchema = {
  type: "object",
  description: "A condition: what it wants, and what it finds. Or a combination of conditions.",
  required: ["holds"],
  properties: {
    field: { type: "string" },
    operator: { type: "string", description: "Absent for `eq`." },
    wanted: { description: "The value in the rule, with the caller's values filled in." },
    found: { description: "The value of the resource; null where there is none." },
    combined: { type: "string", enum: ["or", "and", "not"] },
    parts: {
      type: "array",
      items: { type: "array", items: { type: "object" } },
      description: "The conditions of each part of a combination.",
    },
    holds: { type: "boolean" },
  },
  additionalProperties: false,
  examples: [{ field: "status", wanted: "draft", found: "published", holds: false }],
} as const;

export type ConditionReport = FromSchema<typeof conditionReportSchema>;

const conditions = { type: "array", items: conditionReportSchema } as const;

export const grantReportSchema = {
  type: "object",
  required: ["name", "to", "allows"],
  properties: {
    name: { type: "string" },
    to: { type: "boolean", description: "Whether the grant is for the caller." },
    missing: {
      type: "array",
      items: { type: "string" },
      description: "The values in it that the caller does not have: it never applies.",
    },
    where: { ...conditions, description: "What must hold before." },
    errors: {
      type: "array",
      items: errorDetailSchema,
      description: "What is wrong with the change under this grant, such as other fields.",
    },
    check: { ...conditions, description: "What must hold after." },
    allows: { type: "boolean" },
  },
  additionalProperties: false,
} as const;

export type GrantReport = FromSchema<typeof grantReportSchema>;

const exampleGrant = {
  name: "own draft",
  to: true,
  where: [{ field: "status", wanted: "draft", found: "published", holds: false }],
  allows: false,
};

export const accessReportSchema = {
  type: "object",
  description: "Whether the subject may, which grant decided, and why the others did not.",
  required: ["allowed", "status", "scopes", "roles", "grants"],
  properties: {
    allowed: { type: "boolean" },
    status: { type: "integer", minimum: 200, maximum: 599, description: "Of the response." },
    detail: { type: "string", description: "What the caller is told when it may not." },
    errors: { type: "array", items: errorDetailSchema, description: "What the caller is told." },
    grant: { type: "string", description: "The first grant that allows it." },
    subject: asked.subject,
    scopes,
    roles,
    boundary: { ...conditions, description: "What must hold for every grant." },
    grants: { type: "array", items: grantReportSchema, description: "An admin needs none." },
  },
  additionalProperties: false,
  examples: [
    {
      allowed: false,
      status: 403,
      subject: "bob",
      scopes: ["posts:*"],
      roles: [],
      grants: [exampleGrant],
    },
  ],
} as const;

export type AccessReport = FromSchema<typeof accessReportSchema>;

/** One schema for both, because generators of clients understand it better than a choice. */
const writeRight = {
  type: ["boolean", "object"],
  description: "True for all fields; otherwise the fields, or false.",
  required: ["fields"],
  properties: { fields: { type: "array", items: { type: "string" } } },
  additionalProperties: false,
} as const;

export const ownRightsSchema = {
  type: "object",
  description: "What the caller may do. Conditions on what it sends can still reject a request.",
  required: ["read", "create", "update", "delete"],
  properties: {
    read: { type: "boolean" },
    create: writeRight,
    update: writeRight,
    delete: { type: "boolean" },
  },
  additionalProperties: false,
  examples: [
    {
      read: true,
      create: { fields: ["title", "body"] },
      update: { fields: ["title", "body", "status"] },
      delete: false,
    },
  ],
} as const;

export type OwnRights = FromSchema<typeof ownRightsSchema>;
