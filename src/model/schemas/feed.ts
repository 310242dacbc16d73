// The JSON Schemas of a feed: the changes in a collection after a position.

import { pageLimits } from "../query/list-request.ts";
import { exampleResource, exampleTime } from "./examples.ts";
import { resourceSchema } from "./resource.ts";
import { timeSchema } from "./time.ts";

/** Callers who see a part of the collection do not see it, because it counts the writes of others. */
const revision = { type: "integer", minimum: 0 } as const;

export const writtenResourceSchema = {
  type: "object",
  required: ["resource"],
  properties: { revision, resource: resourceSchema },
  additionalProperties: false,
} as const;

export const removedResourceSchema = {
  type: "object",
  required: ["removed", "removedAt"],
  properties: {
    revision,
    removed: {
      type: "string",
      description: "The id of a resource that was removed or no longer matches.",
    },
    removedAt: timeSchema,
  },
  additionalProperties: false,
} as const;

export const feedSchema = {
  type: "object",
  description: "The changes after `since`. Each resource appears once, in its current state.",
  required: ["changes", "since", "next", "more"],
  properties: {
    changes: {
      type: "array",
      maxItems: pageLimits.maxLimit,
      items: { oneOf: [writtenResourceSchema, removedResourceSchema] },
    },
    since: { type: "string", description: "The position of the request." },
    next: { type: "string", description: "The `since` of the next request, to be sent unchanged." },
    more: { type: "boolean", description: "Whether there are more changes." },
  },
  additionalProperties: false,
  examples: [
    {
      changes: [
        { revision: 2, resource: exampleResource },
        { revision: 5, removed: "bob", removedAt: exampleTime },
      ],
      since: "0",
      next: "1.4fti4g0-5-mhz3k2d1",
      more: false,
    },
  ],
} as const;
