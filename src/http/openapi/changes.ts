// Defines the JSON Schemas of patches, batches and feeds in the OpenAPI document.

import { collectionName, resourceId } from "../../model/id.ts";
import { maxOperations as maxPatchOperations } from "../../model/patch.ts";
import { pageLimits } from "../../model/query/page.ts";
import { maxOperations } from "../resources/batch.ts";
import { definitionSchemas } from "./definitions.ts";
import { at, example, schema, text, time } from "./schemas.ts";

type Schemas = Readonly<Record<string, object>>;

const revision = { type: "integer", minimum: 0 };
const id = { type: "string", pattern: resourceId.source };
const etag = '"2-mwh98p3i"';

const patchShapes: Schemas = {
  MergePatch: {
    type: "object",
    description:
      "JSON Merge Patch (RFC 7396): null removes, objects merge, anything else replaces.",
    examples: [{ email: "ada@example.org", phone: null }],
  },
  JsonPatch: {
    type: "array",
    description: "JSON Patch (RFC 6902).",
    maxItems: maxPatchOperations,
    items: schema("JsonPatchOperation"),
    examples: [
      [
        { op: "test", path: "/name", value: "Ada" },
        { op: "replace", path: "/name", value: "Ada Lovelace" },
      ],
    ],
  },
  JsonPatchOperation: {
    type: "object",
    required: ["op", "path"],
    properties: {
      op: { type: "string", enum: ["add", "remove", "replace", "move", "copy", "test"] },
      path: { type: "string", description: "A JSON Pointer (RFC 6901)." },
      from: { type: "string", description: "Of `move` and `copy`: a JSON Pointer." },
      value: { description: "Of `add`, `replace` and `test`." },
    },
    examples: [{ op: "add", path: "/tags/-", value: "mathematics" }],
  },
};

const name = collectionName.source.slice(1, -1);
const inCollection = { type: "string", pattern: `^/${name}$` };
const ofResource = { type: "string", pattern: `^/${name}/${resourceId.source.slice(1)}` };
const preconditions = {
  ifMatch: { type: "string", description: "As the header field If-Match." },
  ifNoneMatch: { type: "string", description: "As the header field If-None-Match." },
};

/** The schema of one operation of a batch. */
const operation = (
  method: string,
  path: object,
  more: Schemas,
  ...required: readonly string[]
) => ({
  type: "object",
  required: ["method", "path", ...required],
  properties: { method: { type: "string", enum: [method] }, path, ...more },
  additionalProperties: false,
});

const operationShapes: Schemas = {
  CreateOperation: operation("POST", inCollection, { body: schema("Draft") }, "body"),
  PutOperation: operation(
    "PUT",
    ofResource,
    { body: schema("Replacement"), ...preconditions },
    "body",
  ),
  PatchOperation: operation(
    "PATCH",
    ofResource,
    {
      body: { oneOf: [schema("MergePatch"), schema("JsonPatch")] },
      contentType: {
        type: "string",
        enum: ["application/merge-patch+json", "application/json-patch+json"],
        default: "application/merge-patch+json",
      },
      ...preconditions,
    },
    "body",
  ),
  DeleteOperation: operation("DELETE", ofResource, preconditions),
};

const operationOf = {
  POST: "CreateOperation",
  PUT: "PutOperation",
  PATCH: "PatchOperation",
  DELETE: "DeleteOperation",
};

const batchShapes: Schemas = {
  Batch: {
    type: "object",
    required: ["operations"],
    properties: {
      operations: {
        type: "array",
        minItems: 1,
        maxItems: maxOperations,
        items: {
          oneOf: Object.values(operationOf).map(schema),
          discriminator: {
            propertyName: "method",
            mapping: Object.fromEntries(
              Object.entries(operationOf).map(([method, shape]) => [method, schema(shape).$ref]),
            ),
          },
        },
      },
    },
    additionalProperties: false,
    examples: [
      {
        operations: [
          { method: "POST", path: "/people", body: { name: "Ada" } },
          { method: "PATCH", path: "/accounts/ada", body: { open: true }, ifMatch: etag },
          { method: "DELETE", path: "/invitations/17" },
        ],
      },
    ],
  },
  ...operationShapes,
  BatchResults: {
    type: "object",
    required: ["results"],
    properties: { results: { type: "array", items: schema("BatchResult") } },
    additionalProperties: false,
    examples: [
      {
        results: [
          { status: 201, location: `/people/${example.id}`, etag, body: example },
          { status: 204 },
        ],
      },
    ],
  },
  BatchResult: {
    type: "object",
    description: "The response that the operation would get on its own; for DELETE only 204.",
    required: ["status"],
    properties: {
      status: { type: "integer", enum: [200, 201, 204] },
      location: { type: "string", format: "uri-reference" },
      etag: text,
      body: schema("Selected"),
    },
    additionalProperties: false,
  },
};

const feedShapes: Schemas = {
  Feed: {
    type: "object",
    description: "The changes after `since`. Each resource appears once, in its current state.",
    required: ["changes", "since", "next", "more"],
    properties: {
      changes: {
        type: "array",
        maxItems: pageLimits.maxLimit,
        items: { oneOf: [schema("Written"), schema("Removed")] },
      },
      since: { type: "string", description: "The position of the request." },
      next: {
        type: "string",
        description: "The `since` of the next request, to be sent unchanged.",
      },
      more: { type: "boolean", description: "Whether there are more changes." },
    },
    additionalProperties: false,
    examples: [
      {
        changes: [
          { revision: 2, resource: example },
          { revision: 5, removed: "bob", removedAt: at },
        ],
        since: "0",
        next: "1.4fti4g0-5-mhz3k2d1",
        more: false,
      },
    ],
  },
  Written: {
    type: "object",
    required: ["revision", "resource"],
    properties: { revision, resource: schema("Selected") },
    additionalProperties: false,
  },
  Removed: {
    type: "object",
    required: ["revision", "removed", "removedAt"],
    properties: { revision, removed: id, removedAt: time },
    additionalProperties: false,
  },
};

export const changeSchemas: Schemas = {
  ...patchShapes,
  ...batchShapes,
  ...feedShapes,
  ...definitionSchemas,
};
