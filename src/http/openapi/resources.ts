// Describes the operations on resources: those of any collection, and those of one collection.

import { operationsSchema, operationsType } from "../../model/schemas/operations.ts";
import { jsonPatchSchema, mergePatchSchema } from "../../model/schemas/patch.ts";
import {
  draftSchema,
  pageSchema,
  replacementSchema,
  resourceSchema,
} from "../../model/schemas/resource.ts";
import type { RouteOperation, RouteResponse } from "../request/route.ts";
import { filterWords } from "./filters.ts";
import { bulkContent, bulkReply, fileBytes, formSchema, listContent } from "./formats.ts";
import { formHeader } from "./forms.ts";
import { headers, validators, writtenValidators } from "./headers.ts";
import { conditions, parameters, preconditions } from "./parameters.ts";
import { json, jsonContent, noContent, notModified, response } from "./responses.ts";

/** What differs between the operations on any collection and those on one. */
export interface CollectionShapes {
  /** The collection, as it is named in a summary. */
  readonly label: string;
  readonly resource: object;
  readonly draft: object;
  /** The draft as a multipart form. */
  readonly form: object;
  readonly replacement: object;
  readonly patch: object;
  readonly page: object;
  readonly listDescription: string;
  readonly listParameters: readonly object[];
  readonly idempotencyKey: object;
  /** The unique fields by which a PUT creates or replaces. */
  readonly uniqueParameters: readonly object[];
  /** Whether everything is described. What code generators reject is only here. */
  readonly isGeneric: boolean;
}

/** Any collection, also one that does not exist yet. */
export const anyCollection: CollectionShapes = {
  label: "a collection",
  resource: resourceSchema,
  draft: draftSchema,
  form: formSchema,
  replacement: replacementSchema,
  patch: mergePatchSchema,
  page: pageSchema,
  listDescription: `In the order of creation, unless \`sort\` or \`q\` say otherwise, and with an exact total; past the end it is empty. With \`since\`, the response is a \`Feed\` instead: the changes after that position. With \`aggregate\`, it is a \`GroupList\`: figures of groups of resources. ${filterWords}`,
  listParameters: [
    parameters.page,
    parameters.limit,
    parameters.sort,
    parameters.q,
    parameters.cursor,
    parameters.total,
    parameters.where,
    parameters.fields,
    parameters.expand,
    parameters.aggregate,
    parameters.by,
    parameters.timezone,
    parameters.since,
  ],
  idempotencyKey: parameters.idempotencyKey,
  uniqueParameters: [],
  isGeneric: true,
};

const applied = { "Preference-Applied": headers.preferenceApplied };
const replayed = { "Idempotency-Replayed": headers.idempotencyReplayed };
const contentLocation = { "Content-Location": headers.contentLocation };
const located = { Location: headers.location, ...contentLocation };

const preferences = ({ isGeneric }: CollectionShapes) =>
  isGeneric ? [parameters.fields, parameters.prefer] : [parameters.prefer];

const minimal = (fields: RouteResponse["headers"] = {}) => {
  const description =
    "The change was stored. The caller sent `Prefer: return=minimal`, or may not read the resource.";
  return { 204: noContent(description, { ...fields, ...applied }) };
};

const orNoBody =
  "; without a body if the client sent `Prefer: return=minimal`, or may not read it.";

/** The parameters for NDJSON and CSV only. */
const bulkParameters = [parameters.tryOut, parameters.key, parameters.types, parameters.separator];

/** The parameters for resumable uploads. */
const uploadParameters = [parameters.beginUpload, parameters.uploadLength];

/** JSON comes first, because code generators take the first. */
const draftContent = ({ draft, form, isGeneric }: CollectionShapes) => ({
  ...jsonContent(draft),
  // With the same type for both, a generated client would always send the form.
  ...(form !== draft && { "multipart/form-data": { schema: form } }),
  ...bulkContent,
  ...(isGeneric && {
    "application/x-www-form-urlencoded": { schema: draft },
    ...fileBytes,
  }),
});

const mediaTypes =
  "`application/json` and media types that end in `+json` are JSON; the two kinds of forms are described below, NDJSON and CSV at `/-/lines/{collection}`. `text/json`, and JSON as `text/plain`, are rejected with 415. A body of any other media type, such as `image/png`, is the one file of a new resource, in its member `file`.";

const formRedirect = ({ isGeneric }: CollectionShapes) => {
  const description =
    "The resource was created from a form by a client that prefers HTML: redirects to a page.";
  const content = { "text/html": { schema: { type: "string" } } };
  return isGeneric
    ? { 303: response(description, content, { Location: headers.formLocation, ...replayed }) }
    : {};
};

const listHeaders = {
  ...validators,
  Link: headers.link,
  "X-Total-Count": headers.totalCount,
  "Server-Timing": headers.serverTiming,
};
const listProblems = [404, 410, 412, 504];

const createConditions = [parameters.ifMatchCollection, parameters.ifUnmodifiedSince];
const createProblems = [404, 409, 410, 412, 422];

export const list = (shapes: CollectionShapes): RouteOperation => ({
  summary: `A page of ${shapes.label}`,
  description: shapes.listDescription,
  parameters: [...shapes.listParameters, ...conditions],
  responses: {
    200: response("The page.", { ...jsonContent(shapes.page), ...listContent }, listHeaders),
    304: notModified,
  },
  problems: listProblems,
});

export const create = (shapes: CollectionShapes): RouteOperation => ({
  summary: `Create a resource in ${shapes.label}`,
  description: `The server chooses the id; two equal POSTs create two resources, unless they have the same Idempotency-Key. 201 means that the resource is on disk.${shapes.isGeneric ? `\n\n${mediaTypes}` : ""}`,
  parameters: [
    parameters.atomic,
    ...(shapes.isGeneric ? [...bulkParameters, ...uploadParameters] : []),
    ...createConditions,
    shapes.idempotencyKey,
    ...preferences(shapes),
  ],
  body: draftContent(shapes),
  responses: {
    201: json(`The resource, as a GET returns it${orNoBody}`, shapes.resource, {
      ...writtenValidators,
      ...located,
      ...applied,
      ...replayed,
      ...(shapes.isGeneric || shapes.form === shapes.draft ? {} : formHeader(shapes.form)),
    }),
    ...formRedirect(shapes),
    "2XX": bulkReply,
  },
  problems: createProblems,
});

const sameWith = (method: string) =>
  `Does what ${method} of \`/{collection}\` does with these media types`;

export const exported: RouteOperation = {
  summary: "All resources of a collection, one on each line",
  description: `${sameWith("GET")}, which generated clients cannot choose there.`,
  parameters: [
    ...anyCollection.listParameters.filter((parameter) => parameter !== parameters.since),
    ...conditions,
  ],
  responses: { 200: response("The resources.", listContent, listHeaders), 304: notModified },
  problems: listProblems,
};

export const imported: RouteOperation = {
  summary: "Create resources in a collection, one on each line",
  description: `${sameWith("POST")}.`,
  parameters: [
    parameters.atomic,
    ...bulkParameters,
    ...createConditions,
    parameters.idempotencyKey,
    parameters.prefer,
  ],
  body: bulkContent,
  responses: { 200: bulkReply },
  problems: createProblems,
};

export const get = (shapes: CollectionShapes): RouteOperation => ({
  summary: `A resource of ${shapes.label}`,
  parameters: [...(shapes.isGeneric ? [parameters.fields, parameters.expand] : []), ...conditions],
  responses: { 200: json("The resource.", shapes.resource, validators), 304: notModified },
  problems: [404, 412],
});

export const put = (shapes: CollectionShapes): RouteOperation => ({
  summary: `Create or replace a resource in ${shapes.label}`,
  description:
    "The client chooses the id. An existing resource is replaced, never merged. Creating needs the scope `create`, replacing `update`. The response has no ETag, because the stored bytes differ from the sent ones (RFC 9110 §9.3.4); GET returns it.",
  parameters: [...preconditions, ...preferences(shapes)],
  body: {
    ...jsonContent(shapes.replacement),
    ...(shapes.isGeneric && { "multipart/form-data": { schema: formSchema } }),
  },
  responses: {
    200: json("The resource, replaced.", shapes.resource, { ...contentLocation, ...applied }),
    201: json(`The resource, created${orNoBody}`, shapes.resource, {
      ...located,
      ...applied,
    }),
    ...minimal(),
  },
  problems: [404, 409, 412, 428],
});

export const upsert = (shapes: CollectionShapes): RouteOperation => ({
  ...put(shapes),
  body: jsonContent(shapes.replacement),
  summary: `Create or replace a resource in ${shapes.label} by a unique field`,
  description:
    "The URL has one parameter: a field that is `unique` on its own in the collection, and its value, as in a filter (`?sku=A1`). The resource that has the value is replaced; if there is none, one is created. A body without the field gets it from the URL; another value is 409. Creating needs the scope `create`, replacing `update`.",
  parameters: [...shapes.uniqueParameters, ...preconditions, parameters.prefer],
});

export const patch = (shapes: CollectionShapes): RouteOperation => ({
  summary: `Change parts of a resource of ${shapes.label}`,
  description: `The patch is applied completely or not at all.${shapes.isGeneric ? " 409 when a JSON Patch does not apply to the current state, including a failed `test`, and when the result of operations would not be valid." : " `/{collection}/{id}` takes a JSON Patch, operations and a form with files as well."}`,
  parameters: [...preconditions, parameters.idempotencyKey, ...preferences(shapes)],
  body: {
    "application/merge-patch+json": { schema: shapes.patch },
    ...jsonContent(shapes.patch),
    ...(shapes.isGeneric && {
      "application/json-patch+json": { schema: jsonPatchSchema },
      [operationsType]: { schema: operationsSchema },
      "multipart/form-data": { schema: formSchema },
    }),
  },
  responses: {
    200: json("The resource, changed.", shapes.resource, {
      ...writtenValidators,
      ...contentLocation,
      ...applied,
      ...replayed,
    }),
    ...minimal({ ...writtenValidators, ...replayed }),
  },
  problems: [404, 409, 410, 412, 422, 428],
});

export const remove = (shapes: CollectionShapes): RouteOperation => ({
  summary: `Delete a resource of ${shapes.label}`,
  description:
    "The references to it decide what happens to other resources: they are deleted, lose the reference, or prevent the deletion (409).",
  parameters: preconditions,
  responses: { 204: noContent("The resource was deleted.") },
  problems: [404, 409, 412, 428],
});
