// The JSON Schema of a collection's definition, with its limits and defaults.

import type { FromSchema } from "../lib/schema/from-schema.ts";
import { invalidMessage, unknownMemberMessage } from "../lib/schema/subschemas.ts";
import { grantLimits, grantSchema, ruleConditionSchema } from "./grant-schema.ts";
import { collectionName } from "./id.ts";
import { maxIndexFields } from "./listed-index.ts";
import { picturesSchema } from "./picture.ts";
import { deletionRules } from "./reference.ts";

export const definitionLimits = {
  /** The limit for each list of fields. */
  maxFields: 64,
  maxFieldChars: 256,
  maxDescriptionChars: 10_000,
  /** One year, in seconds. */
  maxAge: 31_536_000,
  minBytes: 2,
  maxRedirectChars: 2_000,
  maxSearchWeight: 100,
  maxPerMinute: 60_000,
  maxReferences: 16,
} as const;

const { maxFields, maxFieldChars, maxDescriptionChars, maxRedirectChars } = definitionLimits;

const requirement = (description: string) =>
  ({ type: "string", enum: ["optional", "required"], default: "optional", description }) as const;

/** One schema for both, because code generators reject a choice between a list and something else. */
const audience = {
  type: ["string", "array"],
  pattern: "^(?:token|public|owner|admin)$",
  items: grantSchema,
  maxItems: grantLimits.maxGrants,
  default: "token",
  [invalidMessage]: (value: unknown) =>
    Array.isArray(value)
      ? undefined
      : 'must be "token", "public", "owner", "admin" or a list of grants',
} as const;

const path = { maxLength: maxFieldChars, pattern: "^[^.]+(?:\\.[^.]+)*$" } as const;

const pathMessage = (field: string): string =>
  field.length > maxFieldChars
    ? `must have at most ${maxFieldChars} characters`
    : "must be names separated by single dots, such as address.city";

const fieldPath = {
  type: "string",
  ...path,
  [invalidMessage]: (field: unknown) =>
    typeof field === "string" ? pathMessage(field) : "must be the name of a field, as a string",
} as const;

/** One schema for both, because code generators reject a choice between a list and something else. */
export const listedIndexSchema = {
  type: ["string", "array"],
  description: `The path of a field, or a list of 2 to ${maxIndexFields} paths.`,
  ...path,
  items: fieldPath,
  minItems: 2,
  maxItems: maxIndexFields,
  [invalidMessage]: (listed: unknown) =>
    typeof listed === "string" ? pathMessage(listed) : undefined,
} as const;

const indexList = <const Example>(description: string, example: Example) =>
  ({
    type: "array",
    items: listedIndexSchema,
    maxItems: maxFields,
    default: [],
    description,
    examples: [example],
  }) as const;

const searchField = {
  anyOf: [
    fieldPath,
    {
      type: "object",
      required: ["field"],
      properties: {
        field: fieldPath,
        weight: {
          type: "number",
          minimum: 1,
          maximum: definitionLimits.maxSearchWeight,
          description: "Multiplies the rank of what is found in the field; 1 if left out.",
        },
      },
      additionalProperties: false,
    },
  ],
} as const;

const reference = {
  type: "object",
  required: ["collection"],
  properties: {
    collection: {
      type: "string",
      pattern: collectionName.source,
      description: "The collection of the resources that the field names.",
      [invalidMessage]: "must be the name of a collection",
    },
    onDelete: {
      type: "string",
      enum: deletionRules,
      default: "restrict",
      description:
        "What happens when the resource that is named is deleted: `restrict` rejects the deletion, `cascade` deletes this resource too, `unset` removes the reference.",
    },
  },
  additionalProperties: false,
} as const;

const properties = {
  $schema: {
    type: "string",
    maxLength: maxDescriptionChars,
    description: "For editors; the server ignores it.",
  },
  description: {
    type: "string",
    maxLength: maxDescriptionChars,
    description: "What the collection is for.",
  },
  singular: {
    type: "string",
    pattern: collectionName.source,
    description:
      "The name of one resource, such as `book` of the collection `books`. Types and operations of the OpenAPI document are named by it.",
    [invalidMessage]:
      "must be a name of up to 63 lower-case letters, digits, - and _, such as book",
  },
  schema: {
    type: "object",
    description: "A JSON Schema (2020-12) of the fields. Without it any fields are allowed.",
    additionalProperties: {},
  },
  access: {
    type: "object",
    description:
      "Who may do what: `token`, callers with the scope; `public`, everyone; `owner`, callers with the scope, on resources that their subject owns; `admin`, nobody but administrators; or a list of grants, of which one is enough.",
    properties: {
      read: audience,
      create: {
        ...audience,
        pattern: "^(?:token|public|admin)$",
        [invalidMessage]: (value: unknown) =>
          value === "owner"
            ? 'a new resource has no owner yet: use "token", "public" or "admin"; "owner" is for read, update and delete'
            : Array.isArray(value)
              ? undefined
              : 'must be "token", "public", "admin" or a list of grants',
      },
      update: audience,
      delete: audience,
    },
    additionalProperties: false,
    default: {},
    [unknownMemberMessage]: () => "unknown verb; known verbs: read, create, update, delete",
  },
  boundary: {
    ...ruleConditionSchema,
    minProperties: 1,
    description:
      "Conditions that hold for every grant of every verb. Their fields cannot change after creation.",
    examples: [{ tenant: { in: "$my.tenants" } }],
  },
  unique: indexList(
    "Fields with unique values, as paths with dots. The values of a list of fields are unique together.",
    ["email", ["tenant", "number"]],
  ),
  indexed: indexList(
    "Fields with an index, for filters and sorting in collections of any size. A list of fields is one index; `-` makes a field descending.",
    ["price", ["status", "-createdAt"]],
  ),
  references: {
    type: "object",
    additionalProperties: reference,
    maxProperties: definitionLimits.maxReferences,
    default: {},
    description:
      "Fields with the ids of other resources, as paths with dots; `lines[].product` names the field of each element. The resources must exist. These fields are indexed.",
    examples: [{ customer: { collection: "customers", onDelete: "restrict" } }],
  },
  searchable: {
    type: "array",
    items: searchField,
    maxItems: maxFields,
    default: [],
    description: "Fields that `q` searches, with weights for the order of the results.",
    examples: [["body", { field: "title", weight: 3 }]],
  },
  cache: {
    type: "object",
    description: "How long caches may store public resources.",
    properties: {
      maxAge: {
        type: "integer",
        minimum: 0,
        maximum: definitionLimits.maxAge,
        default: 0,
        description: "In seconds.",
      },
    },
    additionalProperties: false,
    default: {},
  },
  maxBytes: {
    type: "integer",
    minimum: definitionLimits.minBytes,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "The maximum size of a resource. The server's own limit applies as well.",
  },
  preconditions: requirement("Required: PUT, PATCH and DELETE without a precondition are 428."),
  idempotencyKey: requirement("Required: a POST without an Idempotency-Key is 400."),
  redirect: {
    type: "string",
    maxLength: maxRedirectChars,
    // Browsers read two slashes or backslashes as the start of another host name.
    pattern: "^(?:/(?:[!-.0-\\[\\]-~][!-~]*)?|[Hh][Tt][Tt][Pp][Ss]?://[!-~]+)$",
    description: "Where a browser is redirected after an accepted form: a URL or a path.",
    [invalidMessage]: `must be an http or https URL, or a path such as /thanks; at most ${maxRedirectChars} characters; percent-encode non-ASCII characters`,
  },
  honeypot: {
    type: "string",
    minLength: 1,
    maxLength: maxFieldChars,
    description: "A hidden form field. When it is filled in, nothing is stored.",
    [invalidMessage]: `must be the name of a form field, of 1 to ${maxFieldChars} characters`,
  },
  rateLimit: {
    type: "object",
    description: "How many resources one address may create without a token; more is 429.",
    required: ["perMinute"],
    properties: {
      perMinute: { type: "integer", minimum: 1, maximum: definitionLimits.maxPerMinute },
    },
    additionalProperties: false,
  },
  signedUrls: {
    type: "boolean",
    default: false,
    description: "Whether callers who may read a file can sign its URL (POST /-/signed-urls).",
  },
  presignedRedirects: {
    type: "boolean",
    default: false,
    description: "Whether GET of a file with redirect=true may redirect to a presigned URL of S3.",
  },
  pictures: picturesSchema,
} as const;

const rules = Object.keys(properties).filter((name) => name !== "$schema");

export const definitionSchema = {
  type: "object",
  description: "The definition of a collection. A member that is left out has its default.",
  properties,
  additionalProperties: false,
  [unknownMemberMessage]: () => `unknown rule; known rules: ${rules.join(", ")}`,
  examples: [
    {
      schema: {
        type: "object",
        properties: { name: { type: "string" }, email: { type: "string", format: "email" } },
        required: ["name"],
      },
      unique: ["email"],
      searchable: ["name"],
      access: { read: "public" },
    },
  ],
} as const;

/** A definition as a client sends it, where members may be left out. */
export type DefinitionRequest = FromSchema<typeof definitionSchema, "out">;
/** A definition with its defaults. */
export type Definition = Omit<FromSchema<typeof definitionSchema>, "$schema">;
