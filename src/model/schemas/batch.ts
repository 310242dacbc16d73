// The JSON Schemas of a batch, its operations and its results.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { invalidMessage } from "../../lib/schema/subschemas.ts";
import { collectionName, resourceId } from "../id.ts";
import { entityTagsSchema } from "./entity-tags.ts";
import { exampleEtag, exampleId, exampleResource } from "./examples.ts";
import { operationsType } from "./operations.ts";
import { resourceSchema } from "./resource.ts";

export const batchLimits = { maxOperations: 100 } as const;

const collectionPath = `^/${collectionName.source.slice(1, -1)}`;

const precondition = (field: string) =>
  ({
    ...entityTagsSchema,
    description: `Not of POST. As the header field ${field}.`,
    [invalidMessage]: `${field} must be * or entity tags separated by commas, like "1-lx3k2"`,
  }) as const;

/** One shape for all methods, because code generators have no types for a choice of objects. */
export const batchOperationSchema = {
  type: "object",
  required: ["method", "path"],
  properties: {
    method: { type: "string", enum: ["POST", "PUT", "PATCH", "DELETE"] },
    path: {
      type: "string",
      pattern: `${collectionPath}(?:/${resourceId.source.slice(1, -1)}|\\?[^#]*)?$`,
      description:
        "`/{collection}` for POST, `/{collection}/{id}` for the others. PUT also goes to `/{collection}?{field}={value}` with a unique field.",
      [invalidMessage]: "must be /{collection} for POST, and /{collection}/{id} for the others",
    },
    // Like the body of a PATCH, a patch is checked after the resource is found.
    body: {
      description:
        "Of POST and PUT: an object with the fields. Of PATCH: a `MergePatch`, a `JsonPatch` or `Operations`. Of DELETE: none, or null.",
    },
    contentType: {
      type: "string",
      enum: ["application/merge-patch+json", "application/json-patch+json", operationsType],
      description: "Of PATCH: a merge patch, unless it says otherwise.",
    },
    ifMatch: precondition("If-Match"),
    ifNoneMatch: precondition("If-None-Match"),
  },
  additionalProperties: false,
} as const;

export const batchSchema = {
  type: "object",
  required: ["operations"],
  properties: {
    operations: {
      type: "array",
      minItems: 1,
      maxItems: batchLimits.maxOperations,
      items: batchOperationSchema,
    },
  },
  additionalProperties: false,
  examples: [
    {
      operations: [
        { method: "POST", path: "/people", body: { name: "Ada" } },
        { method: "PATCH", path: "/accounts/ada", body: { open: true }, ifMatch: exampleEtag },
        { method: "DELETE", path: "/invitations/17" },
      ],
    },
  ],
} as const;

export type BatchOperationBody = FromSchema<typeof batchOperationSchema, "out">;

export const batchResultSchema = {
  type: "object",
  description: "The response that the operation would get on its own; for DELETE only 204.",
  required: ["status"],
  properties: {
    status: { type: "integer", minimum: 200, maximum: 204 },
    location: { type: "string", format: "uri-reference" },
    etag: { type: "string" },
    body: resourceSchema,
  },
  additionalProperties: false,
} as const;

export const batchResultsSchema = {
  type: "object",
  required: ["results"],
  properties: { results: { type: "array", items: batchResultSchema } },
  additionalProperties: false,
  examples: [
    {
      results: [
        {
          status: 201,
          location: `/people/${exampleId}`,
          etag: exampleEtag,
          body: exampleResource,
        },
        { status: 204 },
      ],
    },
  ],
} as const;
