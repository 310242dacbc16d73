// The JSON Schemas of scopes, roles and the access document, and how that document is read, stored and applied.

import { ErrorReport } from "../../lib/json/error-report.ts";
import { scanObject } from "../../lib/json/scan.ts";
import { own } from "../../lib/own-property.ts";
import { checkValue } from "../../lib/schema/check-value.ts";
import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { invalidMessage, unknownMemberMessage } from "../../lib/schema/subschemas.ts";
import { withDefaults } from "../../lib/schema/with-defaults.ts";
import type { Collection, Rules } from "../collection.ts";
import { ruleConditionSchema } from "../grant-schema.ts";
import { collectionName } from "../id.ts";
import type { FieldError } from "../problem.ts";
import { type Scope, scopePattern } from "../token.ts";

const shortened = (value: unknown): string => JSON.stringify(value).slice(0, 100);

export const scopeSchema = {
  type: "string",
  pattern: scopePattern.source,
  [invalidMessage]: (scope: unknown) =>
    `${shortened(scope)} is not a scope: use "admin", "metrics", "{collection|*}:{read|create|update|delete|*}", "action:{name|*}" or "issue:{role|*}"`,
} as const;

export const roleNameSchema = {
  type: "string",
  pattern: "^[a-z][a-z0-9_-]{0,62}$",
  [invalidMessage]: (name: unknown) =>
    `${shortened(name)} is not the name of a role: use 1 to 63 characters of a-z, 0-9, _ and -, and begin with a letter`,
} as const;

const accessLimits = { maxRoles: 100, maxScopes: 100, maxSets: 100 } as const;

const setNameSchema = {
  ...roleNameSchema,
  [invalidMessage]: (name: unknown) =>
    `${shortened(name)} is not the name of a set: use 1 to 63 characters of a-z, 0-9, _ and -, and begin with a letter`,
} as const;

const setSchema = {
  type: "object",
  required: ["collection", "where", "field"],
  properties: {
    collection: {
      type: "string",
      pattern: collectionName.source,
      description: "The collection that the set is read from.",
      [invalidMessage]: "must be the name of a collection",
    },
    where: {
      ...ruleConditionSchema,
      description:
        "Which of its resources are the caller's: conditions as in the `where` of a list, in which `$me` stands for the caller's subject.",
    },
    field: {
      type: "string",
      minLength: 1,
      maxLength: 256,
      description: "The field whose values are in the set.",
    },
  },
  additionalProperties: false,
} as const;

const properties = {
  roles: {
    type: "object",
    description:
      "The scopes that each role gives. A token that names a role has them in addition to its own.",
    propertyNames: roleNameSchema,
    additionalProperties: { type: "array", items: scopeSchema, maxItems: accessLimits.maxScopes },
    maxProperties: accessLimits.maxRoles,
    default: {},
    examples: [{ editor: ["posts:*"] }],
  },
  sets: {
    type: "object",
    description:
      "Values of the caller that rules name as `$my.{set}`: those of a field in the resources of a collection.",
    propertyNames: setNameSchema,
    additionalProperties: setSchema,
    maxProperties: accessLimits.maxSets,
    default: {},
    examples: [{ teams: { collection: "memberships", where: { user: "$me" }, field: "team" } }],
  },
} as const;

export const accessDocumentSchema = {
  type: "object",
  description: "What holds for all collections. A member that is left out has its default.",
  properties,
  additionalProperties: false,
  [unknownMemberMessage]: () =>
    `unknown member; known members: ${Object.keys(properties).join(", ")}`,
  examples: [
    {
      roles: { editor: ["posts:*", "images:create"] },
      sets: { teams: { collection: "memberships", where: { user: "$me" }, field: "team" } },
    },
  ],
} as const;

/** An access document with its defaults. */
export type AccessDocument = FromSchema<typeof accessDocumentSchema>;

export { accessName } from "../system-collections.ts";

/** Parses a document that a client sent. Returns all errors when it is not valid. */
export function readAccessDocument(text: string): AccessDocument | readonly FieldError[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const given: unknown = JSON.parse(text);
  const report = new ErrorReport();
  return checkValue(accessDocumentSchema, given, report)
    ? withDefaults(accessDocumentSchema, given)
    : report.errors;
}

/** The document while none is stored. */
const emptyDocument: AccessDocument = withDefaults(accessDocumentSchema, {});

const cache = new WeakMap<Rules | Collection, AccessDocument>();

/** Parses the stored document once per object. */
export function accessDocumentOf(stored: Rules | Collection | undefined): AccessDocument {
  if (stored === undefined) return emptyDocument;
  const cached = cache.get(stored);
  if (cached !== undefined) return cached;
  const document = withDefaults(accessDocumentSchema, JSON.parse(stored.definition));
  cache.set(stored, document);
  return document;
}

/** What a caller has by its tokens. */
interface Held {
  readonly scopes: readonly Scope[];
  readonly roles: readonly string[];
}

/** Adds the scopes of the roles. A role that the document does not name does not count. */
export function withRoleScopes({ scopes, roles }: Held, document: AccessDocument): Held {
  const known = roles.filter((role) => Object.hasOwn(document.roles, role));
  const given = known.flatMap((role) => own(document.roles, role) ?? []);
  return { scopes: [...new Set([...scopes, ...given])], roles: known };
}

/** The version of the document; 0 while none is stored. */
export const accessVersionOf = (stored: Rules | undefined): number => stored?.version ?? 0;
