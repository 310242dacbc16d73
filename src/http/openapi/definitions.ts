// Defines the JSON Schemas of collections and definitions in the OpenAPI document.

import { definitionLimits } from "../../model/check-definition.ts";
import { openDefinition } from "../../model/definition.ts";
import { collectionName } from "../../model/id.ts";
import { at, id, schema, text, time } from "./schemas.ts";

const requirement = (description: string) => ({
  type: "string",
  enum: ["optional", "required"],
  default: "optional",
  description,
});

const accessRule = (...more: readonly string[]) => ({
  type: "string",
  enum: ["token", "public", ...more],
  default: "token",
});

const fields = (description: string) => ({ type: "array", items: text, default: [], description });

const definition = {
  schema: {
    type: "object",
    properties: { name: { type: "string" }, email: { type: "string", format: "email" } },
    required: ["name"],
  },
  unique: ["email"],
  searchable: ["name"],
  access: { read: "public" },
};

const collection = {
  name: "people",
  total: 1,
  revision: 2,
  definition: openDefinition,
  createdAt: at,
  updatedAt: at,
};

const collectionProperties = {
  name: { type: "string", pattern: collectionName.source },
  total: { type: "integer", minimum: 0, description: "How many resources it has." },
  revision: { type: "integer", minimum: 0, description: "The revision of its last change." },
  definition: schema("Definition"),
  createdAt: time,
  updatedAt: time,
};

const exampleError = { pointer: "/email", detail: "this is not an email address" };
const violations = { count: 1, first: [{ id, errors: [exampleError] }] };

export const definitionSchemas: Readonly<Record<string, object>> = {
  Definition: {
    type: "object",
    description: "The definition of a collection. A member that is left out has its default.",
    properties: {
      $schema: { type: "string", description: "For editors; the server ignores it." },
      description: { type: "string", description: "What the collection is for." },
      preconditions: requirement("Required: PUT, PATCH and DELETE without a precondition are 428."),
      idempotencyKey: requirement("Required: a POST without an Idempotency-Key is 400."),
      schema: {
        type: "object",
        description: "A JSON Schema (2020-12) of the fields. Without it any fields are allowed.",
        additionalProperties: true,
      },
      access: {
        type: "object",
        description:
          "Who may do what: `token`, callers with the scope; `public`, everyone; `owner`, callers with the scope, on resources that the same token created.",
        properties: {
          read: accessRule("owner"),
          create: accessRule(),
          update: accessRule("owner"),
          delete: accessRule("owner"),
        },
        additionalProperties: false,
      },
      unique: fields("Fields with unique values, as paths with dots."),
      indexed: fields("Fields with an index, for filters and sorting in collections of any size."),
      searchable: fields("Fields that `q` searches."),
      cache: {
        type: "object",
        description: "How long caches may store public resources.",
        properties: { maxAge: { type: "integer", minimum: 0, description: "In seconds." } },
        additionalProperties: false,
      },
      maxBytes: { type: "integer", minimum: 1, description: "The maximum size of a resource." },
      redirect: {
        type: "string",
        description: "Where a browser is redirected after an accepted form: a URL or a path.",
      },
      honeypot: {
        type: "string",
        description: "A hidden form field. When it is filled in, nothing is stored.",
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
    },
    additionalProperties: false,
    examples: [definition],
  },
  Collection: {
    type: "object",
    required: Object.keys(collection),
    properties: collectionProperties,
    additionalProperties: false,
    examples: [collection],
  },
  DefinedCollection: {
    type: "object",
    required: [...Object.keys(collection), "violations"],
    properties: { ...collectionProperties, violations: schema("Violations") },
    additionalProperties: false,
    examples: [{ ...collection, violations }],
  },
  DryRun: {
    type: "object",
    description: "What would happen; nothing was changed.",
    required: ["name", "definition", "dryRun", "violations"],
    properties: {
      name: collectionProperties.name,
      definition: schema("Definition"),
      dryRun: { type: "boolean", enum: [true] },
      violations: schema("Violations"),
    },
    additionalProperties: false,
  },
  Violations: {
    type: "object",
    description:
      "Stored resources that do not match the definition. They stay, and are validated at their next write.",
    required: ["count", "first"],
    properties: {
      count: { type: "integer", minimum: 0 },
      first: { type: "array", items: schema("Violation"), description: "The first few." },
    },
    additionalProperties: false,
    examples: [violations],
  },
  Violation: {
    type: "object",
    required: ["id", "errors"],
    properties: { id: text, errors: { type: "array", items: schema("Fault") } },
    additionalProperties: false,
  },
  Collections: {
    type: "object",
    required: ["data"],
    properties: { data: { type: "array", items: schema("Collection") } },
    additionalProperties: false,
    examples: [{ data: [collection] }],
  },
};
