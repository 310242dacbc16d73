// The OpenAPI document's part about resources: what is asked of them, one by one and together.

import type { Verb } from "../model/token.ts";
import { maxOperations } from "./batch.ts";
import {
  answer,
  body,
  commonHeaders,
  conditions,
  json,
  jsonBody,
  notModified,
  ofCallers,
  ofWriters,
  validators,
} from "./openapi-answers.ts";
import { header, parameter, problems } from "./openapi-components.ts";
import { schema } from "./openapi-schemas.ts";

/** Any of the scopes opens the door. */
const forCallers = (...verbs: readonly Verb[]) => ({
  tags: ["Resources"],
  security: verbs.map((verb) => ({ bearer: [`{collection}:${verb}`] })),
});

const preconditions = [
  parameter("ifMatch"),
  parameter("ifUnmodifiedSince"),
  parameter("ifNoneMatchToWrite"),
];

const preferred = { "Preference-Applied": header("PreferenceApplied") };
const replayed = { "Idempotency-Replayed": header("IdempotencyReplayed") };
const placed = { Location: header("Location"), "Content-Location": header("ContentLocation") };
const shown = { "Content-Location": header("ContentLocation") };
const minimal = (headers: object) => ({
  description: "It is done, and `Prefer: return=minimal` was sent.",
  headers: { ...headers, ...preferred },
});

export const resourcePaths = (maxBodyBytes: number) => ({
  "/{collection}": {
    parameters: [parameter("collection")],
    get: list,
    post: create(maxBodyBytes),
  },
  "/{collection}/{id}": {
    parameters: [parameter("collection"), parameter("id")],
    get: {
      operationId: "getResource",
      summary: "A resource",
      ...forCallers("read"),
      parameters: conditions,
      responses: {
        200: json("The resource.", "Resource", validators),
        304: notModified,
        ...problems(...ofCallers, 404, 412),
      },
    },
    put: put(maxBodyBytes),
    patch: patch(maxBodyBytes),
    delete: remove,
  },
  "/-/batch": { post: batch(maxBodyBytes) },
});

const list = {
  operationId: "listResources",
  summary: "A page of a collection, or what changed in it",
  description:
    "A page is in the order of creation, with an exact total; past the end it is empty. Every page costs the same, however deep. With `since`, the answer has what was written or removed after that revision instead.",
  ...forCallers("read"),
  parameters: [
    parameter("page"),
    parameter("limit"),
    parameter("sort"),
    parameter("since"),
    ...conditions,
  ],
  responses: {
    200: answer(
      "The page; with `since`, the changes.",
      "application/json",
      { oneOf: [schema("Page"), schema("Feed")] },
      { ...validators, Link: header("Link"), "X-Total-Count": header("XTotalCount") },
    ),
    304: notModified,
    ...problems(...ofCallers, 404, 412),
  },
};

const create = (maxBodyBytes: number) => ({
  operationId: "createResource",
  summary: "Create a resource",
  description:
    "The server decides the address; two equal POSTs make two resources, unless they have the same Idempotency-Key. 201 means that it is on disk. A POST by an admin token brings a collection into being. A collection's definition may require the key.",
  ...forCallers("create"),
  parameters: [parameter("idempotencyKey"), parameter("prefer")],
  requestBody: jsonBody("Draft", maxBodyBytes),
  responses: {
    201: json(
      "The resource, as a GET of its address answers it; without a body if that was preferred.",
      "Resource",
      { ...validators, ...placed, ...preferred, ...replayed },
    ),
    ...problems(...ofWriters, 404, 422),
  },
});

const put = (maxBodyBytes: number) => ({
  operationId: "putResource",
  summary: "Create or replace a resource",
  description:
    "The client decides the address. What is there is replaced, never merged. Creating needs the scope `create`, replacing `update`. The answer has no ETag, because what is stored is not what was sent byte for byte (RFC 9110 §9.3.4); GET has it.",
  ...forCallers("create", "update"),
  parameters: [...preconditions, parameter("prefer")],
  requestBody: jsonBody("Replacement", maxBodyBytes),
  responses: {
    200: json("The resource, replaced.", "Resource", { ...commonHeaders, ...shown, ...preferred }),
    201: json("The resource, created; without a body if that was preferred.", "Resource", {
      ...commonHeaders,
      ...placed,
      ...preferred,
    }),
    204: minimal(commonHeaders),
    ...problems(...ofWriters, 404, 409, 412, 428),
  },
});

const patch = (maxBodyBytes: number) => ({
  operationId: "patchResource",
  summary: "Change parts of a resource",
  description:
    "All of the patch is applied or nothing. 409 when a JSON Patch does not fit the current state, a failed `test` included.",
  ...forCallers("update"),
  parameters: [...preconditions, parameter("prefer")],
  requestBody: body(
    {
      "application/merge-patch+json": "MergePatch",
      "application/json-patch+json": "JsonPatch",
      "application/json": "MergePatch",
    },
    maxBodyBytes,
  ),
  responses: {
    200: json("The resource, changed.", "Resource", { ...validators, ...shown, ...preferred }),
    204: minimal(validators),
    ...problems(...ofWriters, 404, 409, 412, 428),
  },
});

const remove = {
  operationId: "deleteResource",
  summary: "Remove a resource",
  ...forCallers("delete"),
  parameters: preconditions,
  responses: {
    204: { description: "It is gone.", headers: commonHeaders },
    ...problems(400, 401, 403, 404, 412, 414, 428, 500, 503, 507),
  },
};

const batch = (maxBodyBytes: number) => ({
  operationId: "runBatch",
  summary: "Many changes as one",
  description: `1 to ${maxOperations} operations in one transaction: all of them happen, or none. Each is judged on the state that those before it leave, needs its own scope and may have its own precondition. A refusal is the problem of the first operation that could not be done, and \`errors\` has its place.`,
  tags: ["Resources"],
  security: [{ bearer: [] }],
  parameters: [parameter("idempotencyKey")],
  requestBody: jsonBody("Batch", maxBodyBytes),
  responses: {
    200: json("What became of each, in order.", "BatchResults", { ...commonHeaders, ...replayed }),
    ...problems(...ofWriters, 404, 409, 412, 422, 428),
  },
});
