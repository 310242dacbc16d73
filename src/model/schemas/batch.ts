// The JSON Schemas of a batch, its operations and its results.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { invalidMessage } from "../../lib/schema/subschemas.ts";
import { collectionName, resourceId } from "../id.ts";
import { exampleEtag, exampleId, exampleResource } from "./examples.ts";
import { draftSchema, partialResourceSchema, replacementSchema } from "./resource.ts";

export const batchLimits = { maxOperations: 100 } as const;

const collectionPath = `^/${collectionName.source.slice(1, -1)}`;

const toCollection = {
  type: "string",
  pattern: `${collectionPath}$`,
  [invalidMessage]: "POST goes to /{collection}",
} as const;

const toResource = (method: string) =>
  ({
    type: "string",
    pattern: `${collectionPath}/${resourceId.source.slice(1)}`,
    [invalidMessage]: `${method} goes to /{collection}/{id}`,
  }) as const;

const preconditions = {
  ifMatch: { type: "string", description: "As the header field If-Match." },
  ifNoneMatch: { type: "string", description: "As the header field If-None-Match." },
} as const;

/** Without a precondition, because none is evaluated. */
export const createOperationSchema = {
  type: "object",
  required: ["method", "path", "body"],
  properties: {
    method: { type: "string", enum: ["POST"] },
    path: toCollection,
    body: draftSchema,
  },
  additionalProperties: false,
} as const;

export const putOperationSchema = {
  type: "object",
  required: ["method", "path", "body"],
  properties: {
    method: { type: "string", enum: ["PUT"] },
    path: toResource("PUT"),
    body: replacementSchema,
    ...preconditions,
  },
  additionalProperties: false,
} as const;

export const patchOperationSchema = {
  type: "object",
  required: ["method", "path", "body"],
  properties: {
    method: { type: "string", enum: ["PATCH"] },
    path: toResource("PATCH"),
    // Like the body of a PATCH, it is checked after the resource is found.
    body: { description: "A `MergePatch` or a `JsonPatch`, as `contentType` says." },
    contentType: {
      type: "string",
      enum: ["application/merge-patch+json", "application/json-patch+json"],
      default: "application/merge-patch+json",
    },
    ...preconditions,
  },
  additionalProperties: false,
} as const;

export const deleteOperationSchema = {
  type: "object",
  required: ["method", "path"],
  properties: {
    method: { type: "string", enum: ["DELETE"] },
    path: toResource("DELETE"),
    ...preconditions,
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
      items: {
        oneOf: [
          createOperationSchema,
          putOperationSchema,
          patchOperationSchema,
          deleteOperationSchema,
        ],
      },
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

export type BatchOperation = FromSchema<typeof batchSchema, "out">["operations"][number];

export const batchResultSchema = {
  type: "object",
  description: "The response that the operation would get on its own; for DELETE only 204.",
  required: ["status"],
  properties: {
    status: { type: "integer", minimum: 200, maximum: 204 },
    location: { type: "string", format: "uri-reference" },
    etag: { type: "string" },
    body: partialResourceSchema,
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
