// The JSON Schemas of resources of any collection: as they are sent and read, and pages of them.

import { filePathPattern } from "../file.ts";
import { collectionName, resourceId } from "../id.ts";
import { pageLimits } from "../query/list-request.ts";
import { exampleResource } from "./examples.ts";
import { timeSchema } from "./time.ts";

export const collectionNameSchema = { type: "string", pattern: collectionName.source } as const;
export const resourceIdSchema = { type: "string", pattern: resourceId.source } as const;

export const fileNameSchema = { type: "string", pattern: filePathPattern.source } as const;

export const draftSchema = {
  type: "object",
  description:
    "Any JSON object without an `id`, which the server chooses; `createdAt`, `updatedAt` and the reserved names `_etag`, `_expanded` and `_owner` are ignored.",
  additionalProperties: {},
  examples: [{ name: "Ada" }],
} as const;

export const replacementSchema = {
  type: "object",
  description:
    "Any JSON object. An `id` must be the one in the URL, otherwise 409; `createdAt`, `updatedAt` and the reserved names `_etag`, `_expanded` and `_owner` are ignored, so the response of a GET can be changed and sent back.",
  additionalProperties: {},
  examples: [{ name: "Ada Lovelace" }],
} as const;

const shown = {
  id: { type: "string" },
  createdAt: timeSchema,
  updatedAt: timeSchema,
  _etag: {
    type: "string",
    description:
      "The ETag, if `fields` names it. The name is reserved and ignored in request bodies.",
  },
  _owner: {
    type: ["string", "null"],
    description: "The subject that owns the resource, if an admin names it in `fields`.",
  },
  _expanded: {
    type: "object",
    description:
      "With `expand`: the resources that this one refers to, by the path of the reference; null where there is none that the caller may read. An array for a path with `[]`.",
    additionalProperties: {},
  },
} as const;

export const resourceSchema = {
  type: "object",
  description:
    "`id`, the fields that were sent, `createdAt` and `updatedAt`; with `fields` only some of them.",
  required: ["id"],
  properties: shown,
  additionalProperties: {},
  examples: [exampleResource],
} as const;

/** The schema of a page. With a cursor there are no page numbers, and a total may be left out. */
export const pageOf = (item: object) => ({
  type: "object",
  required: ["data", "limit"],
  properties: {
    data: { type: "array", items: item, maxItems: pageLimits.maxLimit },
    page: { type: "integer", minimum: 1 },
    limit: { type: "integer", minimum: 1, maximum: pageLimits.maxLimit },
    total: {
      type: ["integer", "null"],
      minimum: 0,
      description:
        "Null when counting would look at too many resources; then `totalAtLeast` is set.",
    },
    totalAtLeast: { type: "integer", minimum: 0, description: "A lower limit of the total." },
    pages: { type: ["integer", "null"], minimum: 0 },
    more: {
      type: "boolean",
      description: "Of a page without a total: whether there are more resources.",
    },
    next: {
      type: ["string", "null"],
      description: "With `cursor`: the cursor of the next page; null at the end.",
    },
  },
  additionalProperties: false,
});

const { required: _, ...page } = pageOf(resourceSchema);

/** A page of any collection. Nothing is required: with `since` the response is a feed instead. */
export const pageSchema = {
  ...page,
  examples: [
    { data: [exampleResource], page: 1, limit: pageLimits.defaultLimit, total: 1, pages: 1 },
  ],
};

/** The response to a list request with `aggregate`. The members of a group depend on the request. */
export const groupListSchema = {
  type: "object",
  description: "Figures of groups of resources: the response to `aggregate`.",
  required: ["data", "page", "limit", "total", "pages"],
  properties: {
    data: {
      type: "array",
      items: { type: "object", additionalProperties: {} },
      maxItems: pageLimits.maxLimit,
    },
    page: { type: "integer", minimum: 1 },
    limit: { type: "integer", minimum: 1, maximum: pageLimits.maxLimit },
    total: { type: "integer", minimum: 0, description: "How many groups there are." },
    pages: { type: "integer", minimum: 0 },
  },
  additionalProperties: false,
  examples: [
    {
      data: [{ status: "paid", count: 12, "sum(total)": 99.1 }],
      page: 1,
      limit: pageLimits.defaultLimit,
      total: 1,
      pages: 1,
    },
  ],
} as const;
