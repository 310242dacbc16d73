// The shapes of collections and their rules in the OpenAPI document.

import { definitionLimits } from "../../model/check-definition.ts";
import { openDefinition } from "../../model/definition.ts";
import { collectionName } from "../../model/id.ts";
import { at, id, schema, text, time } from "./schemas.ts";

const demand = (description: string) => ({
  type: "string",
  enum: ["optional", "required"],
  default: "optional",
  description,
});

const whose = (...more: readonly string[]) => ({
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
  revision: { type: "integer", minimum: 0, description: "That of its last change." },
  definition: schema("Definition"),
  createdAt: time,
  updatedAt: time,
};

const fault = { pointer: "/email", detail: "this is not an email address" };
const violations = { count: 1, first: [{ id, errors: [fault] }] };

export const definitionSchemas: Readonly<Record<string, object>> = {
  Definition: {
    type: "object",
    description: "A collection's rules. What is left out has its default.",
    properties: {
      $schema: { type: "string", description: "For editors; it has no meaning here." },
      description: { type: "string", description: "What the collection is for." },
      preconditions: demand("Required: PUT, PATCH and DELETE without a precondition are 428."),
      idempotencyKey: demand("Required: a POST without an Idempotency-Key is 400."),
      schema: {
        type: "object",
        description: "A JSON Schema (2020-12) of the fields. Without it they are free.",
        additionalProperties: true,
      },
      access: {
        type: "object",
        description:
          "Who may: `token`, with the scope; `public`, everyone; `owner`, with the scope, and only for what the same token created.",
        properties: {
          read: whose("owner"),
          create: whose(),
          update: whose("owner"),
          delete: whose("owner"),
        },
        additionalProperties: false,
      },
      unique: fields("Fields whose value no two resources share, as paths with dots."),
      indexed: fields("Fields that can be filtered and sorted by at any size."),
      searchable: fields("Fields whose words `q` finds."),
      cache: {
        type: "object",
        description: "How long any cache may keep what everyone may read.",
        properties: { maxAge: { type: "integer", minimum: 0, description: "In seconds." } },
        additionalProperties: false,
      },
      maxBytes: { type: "integer", minimum: 1, description: "The largest resource." },
      redirect: {
        type: "string",
        description: "Where a browser goes whose form was accepted: a URL or a path.",
      },
      honeypot: {
        type: "string",
        description:
          "A field of forms that no person sees. Where it is filled in, nothing is stored.",
      },
      rateLimit: {
        type: "object",
        description: "How often one address may create without a token: 429 beyond it.",
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
    description: "What would happen; nothing did.",
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
      "What is there and does not fit the rules. It stays, and is judged when it is next written.",
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
