// Describes the operations that tell what callers may do.

import {
  accessQuerySchema,
  accessReportSchema,
  ownRightsSchema,
} from "../../model/schemas/access-query.ts";
import { collectionNameSchema, resourceIdSchema } from "../../model/schemas/resource.ts";
import { json, jsonContent } from "./responses.ts";

export const explain = {
  summary: "Explain whether a subject may do something",
  description:
    "Tries it with the rules as they are now, and changes nothing: which grant decides, and which condition fails on which value.",
  body: jsonContent(accessQuerySchema),
  responses: { 200: json("Whether it may, and why.", accessReportSchema) },
  problems: [404],
} as const;

const rights = json("What the caller may do.", ownRightsSchema);

export const showRights = {
  summary: "What the caller may do with a collection",
  path: { collection: collectionNameSchema },
  responses: { 200: rights },
  problems: [404],
} as const;

export const showResourceRights = {
  summary: "What the caller may do with a resource",
  path: { collection: collectionNameSchema, id: resourceIdSchema },
  responses: { 200: rights },
  problems: [404],
} as const;
