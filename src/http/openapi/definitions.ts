// Describes the operations that define and delete collections.

import { definitionSchema } from "../../model/definition-schema.ts";
import { collectionSchema, definedCollectionSchema } from "../../model/schemas/collection.ts";
import { collectionNameSchema } from "../../model/schemas/resource.ts";
import { headers } from "./headers.ts";
import { parameters } from "./parameters.ts";
import { json, jsonContent, noContent } from "./responses.ts";

const path = { name: collectionNameSchema };

const tag = { ETag: headers.etag };
const putTag = { ETag: headers.unchangedEtag };
const preconditions = [parameters.ifMatch, parameters.ifNoneMatchToWrite];
const notModified = noContent("The client has the current state.", tag);

export const showCollection = {
  summary: "A collection",
  description:
    "Its ETag changes with each write to the collection; that of `definition` only with the definition.",
  path,
  parameters: [parameters.ifNoneMatch, parameters.ifMatch],
  responses: { 200: json("The collection.", collectionSchema, tag), 304: notModified },
  problems: [404, 412],
};

export const define = {
  summary: "Create or redefine a collection",
  description:
    "Replaces the definition; a member that is left out has its default. Creates the collection if it does not exist, and changes none of its resources.",
  path,
  parameters: [parameters.dryRun, parameters.subjects, ...preconditions],
  body: jsonContent(definitionSchema),
  responses: {
    200: json(
      "The collection with its new definition; with `dry-run=true`, what would happen.",
      definedCollectionSchema,
      putTag,
    ),
    201: json("The collection was created.", definedCollectionSchema, putTag),
    202: json(
      "The definition is in effect, and its indexes are still being built; `GET` shows the progress.",
      definedCollectionSchema,
      putTag,
    ),
  },
  problems: [404, 409, 412],
};

export const showDefinition = {
  summary: "The definition of a collection",
  description: "As it was sent. Its ETag changes only with the definition.",
  path,
  parameters: [parameters.ifNoneMatch, parameters.ifMatch],
  responses: { 200: json("The definition.", definitionSchema, tag), 304: notModified },
  problems: [404, 412],
};

export const replaceDefinition = {
  ...define,
  summary: "Replace the definition of a collection",
  description:
    "Does what PUT of the collection does. `If-Match` with the ETag of the definition makes sure that nobody else has changed it meanwhile.",
};

export const drop = {
  summary: "Delete a collection",
  description: "This cannot be undone. A collection with resources is deleted only with `confirm`.",
  path,
  parameters: [parameters.confirm, ...preconditions],
  responses: { 204: noContent("The collection was deleted.") },
  problems: [404, 409, 412],
};
