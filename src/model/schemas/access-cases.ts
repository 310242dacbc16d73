// The JSON Schema of a file with cases: who, verb, state and expected answer.

import { ErrorReport } from "../../lib/json/error-report.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { invalidMessage, unknownMemberMessage } from "../../lib/schema/subschemas.ts";
import type { FieldError } from "../problem.ts";
import { type AccessQuery, accessQuerySchema, readAccessQuery } from "./access-query.ts";

const { collection, id, verb, subject, roles, scopes, change } = accessQuerySchema.properties;

const state = { type: "object", additionalProperties: {} } as const;

const caseProperties = {
  name: { type: "string" },
  subject,
  roles,
  scopes,
  verb,
  collection,
  id,
  change,
  state: {
    ...state,
    description: "The fields of the resource, and its `_owner`. It exists for this case only.",
  },
  expect: {
    type: ["boolean", "integer"],
    description: "Whether it is allowed, or the status of the response.",
    [invalidMessage]: "must be true, false or the status of a response",
  },
  grant: { type: "string", description: "The grant that must decide." },
} as const;

const caseSchema = {
  type: "object",
  required: ["verb", "collection", "expect"],
  properties: caseProperties,
  additionalProperties: false,
  [unknownMemberMessage]: () =>
    `unknown member; known members: ${Object.keys(caseProperties).join(", ")}`,
} as const;

const accessCasesSchema = {
  type: "object",
  required: ["cases"],
  properties: {
    resources: {
      type: "object",
      additionalProperties: { type: "object", additionalProperties: state },
      description: "Resources that exist for every case, by collection and id.",
    },
    cases: { type: "array", items: caseSchema, minItems: 1 },
  },
  additionalProperties: false,
} as const;

export type AccessCases = FromSchema<typeof accessCasesSchema>;
export type AccessCase = AccessCases["cases"][number];

/** The id of a case's resource that has none. */
export const caseId = "case";

export function queryOf({ name, state, expect, grant, ...query }: AccessCase): AccessQuery {
  return state === undefined ? query : { ...query, id: query.id ?? caseId };
}

/** Returns all errors when the cases are not valid. */
export function readAccessCases(given: unknown): AccessCases | readonly FieldError[] {
  const report = new ErrorReport();
  if (!checkValue(accessCasesSchema, given, report)) return report.errors;
  const errors = given.cases.flatMap((one, index) => {
    const query = readAccessQuery(queryOf(one));
    if ("verb" in query) return [];
    return query.map((error) => ({ ...error, pointer: `/cases/${index}${error.pointer}` }));
  });
  return errors.length === 0 ? given : errors;
}
