// The JSON Schemas of collections as they are shown, and of the resources that violate a definition.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import type { ObjectSchema } from "../../lib/schema/subschemas.ts";
import type { Collection } from "../collection.ts";
import { type DefinitionRequest, definitionSchema } from "../definition-schema.ts";
import { exampleId, exampleTime } from "./examples.ts";
import { errorDetailSchema } from "./problem.ts";
import { collectionNameSchema } from "./resource.ts";
import { timeSchema, timeText } from "./time.ts";

/** Without its exact type, which would have to be written out in the package's declarations. */
const definition: ObjectSchema = definitionSchema;

const shown = {
  name: collectionNameSchema,
  total: { type: "integer", minimum: 0, description: "How many resources it has." },
  bytes: {
    type: "integer",
    minimum: 0,
    description: "The size of the JSON of its resources, without indexes and files.",
  },
  revision: { type: "integer", minimum: 0, description: "The revision of its last change." },
  definition,
  createdAt: timeSchema,
  updatedAt: timeSchema,
} as const;
const shownNames = [
  "name",
  "total",
  "bytes",
  "revision",
  "definition",
  "createdAt",
  "updatedAt",
] as const;

const example = {
  name: "people",
  total: 1,
  bytes: 14,
  revision: 2,
  definition: { access: { read: "public" } },
  createdAt: exampleTime,
  updatedAt: exampleTime,
};

/** How far the indexes of existing resources are. */
const buildSchema = {
  type: "object",
  description:
    "While indexes, search or unique values of existing resources are prepared, and after that failed. Until it is done, queries do not use them.",
  required: ["status", "done", "total", "percent"],
  properties: {
    status: {
      type: "string",
      enum: ["running", "failed"],
      description:
        "`failed`: values are not unique, and the definition is in effect without these unique indexes.",
    },
    done: { type: "integer", minimum: 0, description: "How many rows are done." },
    total: { type: "integer", minimum: 0 },
    percent: { type: "integer", minimum: 0, maximum: 100 },
    errors: {
      type: "array",
      items: errorDetailSchema,
      description: "The first ten pairs of resources with the same values, for each index.",
    },
  },
  additionalProperties: false,
  examples: [{ status: "running", done: 412000, total: 1000000, percent: 41 }],
} as const;

export const violationSchema = {
  type: "object",
  required: ["id", "errors"],
  properties: { id: { type: "string" }, errors: { type: "array", items: errorDetailSchema } },
  additionalProperties: false,
} as const;

const exampleViolations = {
  count: 1,
  first: [
    { id: exampleId, errors: [{ pointer: "/email", detail: "this is not an email address" }] },
  ],
};

export const violationsSchema = {
  type: "object",
  description:
    "Stored resources that do not match the definition. They stay, and are validated at their next write.",
  required: ["count", "first"],
  properties: {
    count: { type: "integer", minimum: 0 },
    first: { type: "array", items: violationSchema, description: "The first few." },
    checked: {
      type: "integer",
      minimum: 0,
      description:
        "How many resources were looked at, oldest first, when there was no time for all of them.",
    },
  },
  additionalProperties: false,
  examples: [exampleViolations],
} as const;

export const collectionSchema = {
  type: "object",
  required: shownNames,
  properties: { ...shown, build: buildSchema },
  additionalProperties: false,
  examples: [example],
} as const;

/** How many subjects a dry run counts for. */
export const maxSubjects = 20;

export const seenResourcesSchema = {
  type: "object",
  description: "How many resources a subject sees; without `subject`, callers without a token.",
  required: ["before", "after"],
  properties: {
    subject: { type: "string" },
    before: {
      type: ["integer", "null"],
      minimum: 0,
      description: "With the present definition. Null when counting takes too long.",
    },
    after: {
      type: ["integer", "null"],
      minimum: 0,
      description: "With the new definition. Null when counting takes too long.",
    },
  },
  additionalProperties: false,
  examples: [{ subject: "ann", before: 12, after: 3 }],
} as const;

export type SeenResources = FromSchema<typeof seenResourcesSchema>;

export const definedCollectionSchema = {
  type: "object",
  description:
    "A collection after PUT. With `dry-run=true` nothing was changed, and only the members that do not depend on it are there.",
  required: ["name", "definition", "violations"],
  properties: {
    ...shown,
    build: buildSchema,
    dryRun: { type: "boolean", description: "True: nothing was changed." },
    violations: violationsSchema,
    seen: {
      type: "array",
      items: seenResourcesSchema,
      description: "With `dry-run=true` and `subjects`.",
    },
  },
  additionalProperties: false,
  examples: [{ ...example, violations: exampleViolations }],
} as const;

export const collectionListSchema = {
  type: "object",
  required: ["data"],
  properties: { data: { type: "array", items: collectionSchema } },
  additionalProperties: false,
  examples: [{ data: [example] }],
} as const;

export type Violation = FromSchema<typeof violationSchema>;
export type Violations = FromSchema<typeof violationsSchema>;
type CollectionView = Omit<FromSchema<typeof collectionSchema>, "definition"> & {
  readonly definition: DefinitionRequest;
};

/** Returns a collection as the API shows it, with the definition as it was sent. */
export const collectionView = (collection: Collection): CollectionView => ({
  name: collection.name,
  total: collection.total,
  bytes: collection.bytes,
  revision: collection.revision,
  definition: JSON.parse(collection.definition),
  createdAt: timeText(collection.createdAt),
  updatedAt: timeText(collection.updatedAt),
});
