// The JSON Schemas of tokens: as a client sends one, as it is shown, and as it is issued with its secret.

import { ErrorReport } from "../../lib/json/error-report.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { invalidMessage, isObjectSchema } from "../../lib/schema/subschemas.ts";
import type { FieldError } from "../problem.ts";
import { pageLimits } from "../query/list-request.ts";
import { subjectMessage, subjectPattern, type Token } from "../token.ts";
import { roleNameSchema, scopeSchema } from "./access.ts";
import { exampleId, exampleTime } from "./examples.ts";
import { optionalTimeSchema, timeSchema, timeText } from "./time.ts";

const tokenLimits = { maxNameChars: 200, maxScopes: 100, maxRoles: 100 } as const;

/** Not only spaces, and no control characters. */
const namePattern = "^ *[^ \\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$";

/** The members that the client chooses. */
const chosen = {
  name: {
    type: "string",
    minLength: 1,
    maxLength: tokenLimits.maxNameChars,
    pattern: namePattern,
    [invalidMessage]: `must be text of 1 to ${tokenLimits.maxNameChars} characters, without control characters`,
  },
  scopes: {
    type: "array",
    maxItems: tokenLimits.maxScopes,
    description: "At least one, unless the token has roles.",
    examples: [["people:read"]],
    items: scopeSchema,
  },
  roles: {
    type: "array",
    maxItems: tokenLimits.maxRoles,
    default: [],
    description:
      "Names of roles. Each that the access document names gives its scopes in addition, as they are at the time of a request.",
    examples: [["editor"]],
    items: roleNameSchema,
  },
  subject: {
    type: "string",
    pattern: subjectPattern.source,
    description: "Whom the token stands for: the owner of what it creates. Default: its id.",
    [invalidMessage]: subjectMessage,
  },
  expiresAt: {
    ...optionalTimeSchema,
    default: null,
    description: "null: never.",
    [invalidMessage]: "must be a time such as 2030-01-31T12:00:00Z, or null for never",
  },
} as const;

const { default: _, ...expiresAt } = chosen.expiresAt;
const { default: __, ...roles } = chosen.roles;

export const tokenIdSchema = { type: "string", format: "uuid" } as const;

const shown = {
  id: tokenIdSchema,
  name: chosen.name,
  subject: chosen.subject,
  scopes: chosen.scopes,
  roles,
  createdAt: timeSchema,
  expiresAt,
  usedAt: {
    ...optionalTimeSchema,
    description:
      "To the minute. The use of a token in another process may take five minutes to show.",
  },
  revokedAt: optionalTimeSchema,
} as const;
const shownNames = [
  "id",
  "name",
  "subject",
  "scopes",
  "roles",
  "createdAt",
  "expiresAt",
  "usedAt",
  "revokedAt",
] as const;

const example = {
  id: exampleId,
  name: "backup",
  subject: exampleId,
  scopes: ["people:read"],
  roles: [],
  createdAt: exampleTime,
  expiresAt: null,
  usedAt: null,
  revokedAt: null,
};

export const tokenRequestSchema = {
  type: "object",
  required: ["name", "scopes"],
  properties: chosen,
  additionalProperties: false,
  examples: [{ name: "backup", scopes: ["people:read"] }],
} as const;

export const signInCodeSchema = {
  type: "object",
  required: ["code"],
  properties: {
    code: { type: "string", description: "That of the link, which `restante console` prints." },
  },
  additionalProperties: false,
  examples: [{ code: "rsc_…" }],
} as const;

export const tokenSchema = {
  type: "object",
  required: shownNames,
  properties: shown,
  additionalProperties: false,
  examples: [example],
} as const;

export const issuedTokenSchema = {
  type: "object",
  required: [...shownNames, "token"],
  properties: { ...shown, token: { type: "string", description: "The secret." } },
  additionalProperties: false,
} as const;

export const tokenListSchema = {
  type: "object",
  required: ["data", "page", "limit", "total", "pages"],
  properties: {
    data: { type: "array", items: tokenSchema, maxItems: pageLimits.maxLimit },
    page: { type: "integer", minimum: 1 },
    limit: { type: "integer", minimum: 1, maximum: pageLimits.maxLimit },
    total: { type: "integer", minimum: 0 },
    pages: { type: "integer", minimum: 0 },
  },
  additionalProperties: false,
  examples: [{ data: [example], page: 1, limit: pageLimits.maxLimit, total: 1, pages: 1 }],
} as const;

/** A token to create, as a client sends it. */
export type TokenRequest = FromSchema<typeof tokenRequestSchema, "out">;

/** Returns the code, or all errors of the body. */
export function readSignInCode(
  given: unknown,
): FromSchema<typeof signInCodeSchema> | readonly FieldError[] {
  const report = new ErrorReport();
  return checkValue(signInCodeSchema, given, report) ? given : report.errors;
}

/** A valid request with its roles, and its expiry in milliseconds since the epoch. */
export interface CheckedTokenRequest extends Omit<TokenRequest, "roles" | "expiresAt"> {
  readonly roles: readonly string[];
  readonly expiresAt: number | null;
}

/** Returns the request, or all its errors. */
export function readTokenRequest(
  given: unknown,
  now: number,
): CheckedTokenRequest | readonly FieldError[] {
  const report = new ErrorReport();
  const request = withSeconds(given);
  const isValid = checkValue(tokenRequestSchema, request, report);
  const expiresAt = isObjectSchema(request) ? expiryOf(request.expiresAt) : null;
  if (expiresAt !== null && expiresAt <= now) report.add(["expiresAt"], "must be in the future");
  if (isValid && request.scopes.length + (request.roles?.length ?? 0) === 0)
    report.add(["scopes"], "must have at least 1 item, unless the token has roles");
  if (!isValid || report.errors.length > 0) return report.errors;
  return { ...request, roles: request.roles ?? [], expiresAt };
}

/** The seconds of a time may be left out. */
function withSeconds(given: unknown): unknown {
  if (!isObjectSchema(given) || typeof given.expiresAt !== "string") return given;
  return { ...given, expiresAt: given.expiresAt.replace(/(T\d\d:\d\d)(?=[Z+-])/, "$1:00") };
}

/** Returns null for what is not a time. */
function expiryOf(text: unknown): number | null {
  const at = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}

/** Returns the public members of a token, never its secret or hash. */
export const tokenView = (token: Token): FromSchema<typeof tokenSchema> => ({
  id: token.id,
  name: token.name,
  subject: token.subject,
  scopes: token.scopes,
  roles: token.roles,
  createdAt: timeText(token.createdAt),
  expiresAt: token.expiresAt === null ? null : timeText(token.expiresAt),
  usedAt: token.usedAt === null ? null : timeText(token.usedAt),
  revokedAt: token.revokedAt === null ? null : timeText(token.revokedAt),
});
