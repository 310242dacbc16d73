// Describes the operations that define and delete collections.

import { definitionSchema } from "../../model/definition-schema.ts";
import { definedCollectionSchema } from "../../model/schemas/collection.ts";
import { collectionNameSchema } from "../../model/schemas/resource.ts";
import { parameters } from "./parameters.ts";
import { json, jsonContent, noContent } from "./responses.ts";

const path = { name: collectionNameSchema };

export const define = {
  summary: "Create or redefine a collection",
  description:
    "Replaces the definition; a member that is left out has its default. Creates the collection if it does not exist, and changes none of its resources.",
  path,
  parameters: [parameters.dryRun, parameters.subjects],
  body: jsonContent(definitionSchema),
  responses: {
    200: json(
      "The collection with its new definition; with `dry-run=true`, what would happen.",
      definedCollectionSchema,
    ),
    201: json("The collection was created.", definedCollectionSchema),
    202: json(
      "The definition is in force, and its indexes are still built; `GET` shows the progress.",
      definedCollectionSchema,
    ),
  },
  problems: [404, 409],
};

export const drop = {
  summary: "Delete a collection",
  description: "This cannot be undone. A collection with resources is deleted only with `confirm`.",
  path,
  parameters: [parameters.confirm],
  responses: { 204: noContent("The collection was deleted.") },
  problems: [404, 409],
};
