// The JSON Schemas of recorded queries.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import type { ObjectSchema } from "../../lib/schema/subschemas.ts";
import { listedIndexSchema } from "../definition-schema.ts";
import { exampleTime } from "./examples.ts";
import { collectionNameSchema } from "./resource.ts";
import { timeSchema } from "./time.ts";

/** Without its exact type, which would have to be written out in the package's declarations. */
const listedIndex: ObjectSchema = listedIndexSchema;

const count = { type: "integer", minimum: 0 } as const;

export const slowQuerySchema = {
  type: "object",
  required: [
    "collection",
    "where",
    "sort",
    "search",
    "count",
    "stopped",
    "lastAt",
    "longestMs",
    "totalMs",
    "checked",
    "plan",
    "missingIndexes",
    "relatedIndexes",
    "undeclaredFields",
  ],
  properties: {
    collection: collectionNameSchema,
    where: {
      type: "string",
      description:
        "The fields with their operators; `range` stands for `lt`, `lte`, `gt`, `gte` and `startsWith`.",
    },
    sort: { type: "array", items: { type: "string" } },
    search: { type: "boolean", description: "Whether it has `q`." },
    count: { ...count, description: "How many queries of this shape were recorded." },
    stopped: { ...count, description: "How many of them were stopped at the deadline." },
    lastAt: timeSchema,
    longestMs: { ...count, description: "The time of the longest, its wait included." },
    totalMs: { ...count, description: "The time of all of them." },
    checked: { ...count, description: "The most resources that one of them checked one by one." },
    plan: {
      type: "string",
      description: "Which indexes it reads, and whether resources are checked one by one.",
    },
    missingIndexes: {
      type: "array",
      items: listedIndex,
      description: "What to add to `indexed` in the definition of the collection.",
    },
    relatedIndexes: {
      type: "object",
      additionalProperties: { type: "array", items: listedIndex },
      description:
        "What to add to `indexed` in the definitions of collections that the query refers to, by their names.",
    },
    undeclaredFields: {
      type: "array",
      items: { type: "string" },
      description:
        "The fields to declare in the schema as a string, number, boolean or time, because an index over values of any type is in no order.",
    },
  },
  additionalProperties: false,
} as const;

export const slowQueryListSchema = {
  type: "object",
  required: ["data"],
  properties: { data: { type: "array", items: slowQuerySchema } },
  additionalProperties: false,
  examples: [
    {
      data: [
        {
          collection: "orders",
          where: "status eq",
          sort: ["-total"],
          search: false,
          count: 12,
          stopped: 0,
          lastAt: exampleTime,
          longestMs: 310,
          totalMs: 2904,
          checked: 20015,
          plan: "checks all",
          missingIndexes: [["status", "-total"]],
          relatedIndexes: {},
          undeclaredFields: [],
        },
      ],
    },
  ],
} as const;

export type SlowQueryView = FromSchema<typeof slowQuerySchema>;
