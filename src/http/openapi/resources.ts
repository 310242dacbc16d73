// Describes the operations on resources in the OpenAPI document.

import type { Verb } from "../../model/token.ts";
import { maxOperations } from "../resources/batch.ts";
import {
  body,
  commonHeaders,
  conditions,
  json,
  jsonBody,
  notModified,
  readProblems,
  response,
  validators,
  writeProblems,
} from "./answers.ts";
import { header, parameter, problems } from "./components.ts";
import { uploadTypes } from "./files.ts";
import { bulkResponse, bulkTypes, listFormats } from "./formats.ts";
import { schema, text } from "./schemas.ts";

/** What differs between the generic operations and those of one collection. */
export interface ResourceOperations {
  readonly tag: string;
  readonly operationIds: Readonly<
    Record<"list" | "create" | "get" | "put" | "patch" | "remove", string>
  >;
  /** The collection, as it is named in a summary. */
  readonly place: string;
  /** The names of the schemas. */
  readonly schemas: Readonly<Record<"resource" | "draft" | "replacement" | "patch", string>>;
  readonly aboutList: string;
  readonly listed: object;
  readonly listParameters: readonly object[];
  readonly idempotencyKey: object;
  /** Whether alternative formats are described; typed clients are simpler without them. */
  readonly isGeneric: boolean;
  readonly maxBodyBytes: number;
  /** The security requirements, as alternatives. */
  readonly security: (...verbs: readonly Verb[]) => readonly object[];
}

const preconditions = [
  parameter("ifMatch"),
  parameter("ifUnmodifiedSince"),
  parameter("ifNoneMatchToWrite"),
];

const preferred = { "Preference-Applied": header("PreferenceApplied") };
const replayed = { "Idempotency-Replayed": header("IdempotencyReplayed") };
const locationHeaders = {
  Location: header("Location"),
  "Content-Location": header("ContentLocation"),
};
const contentLocation = { "Content-Location": header("ContentLocation") };
const preferences = ({ isGeneric: isPreferable }: ResourceOperations) =>
  isPreferable ? [parameter("fields"), parameter("prefer")] : [];
const minimal = ({ isGeneric: isPreferable }: ResourceOperations, headers: object) => {
  const description =
    "The change was stored. The caller sent `Prefer: return=minimal`, or may not read the resource.";
  return isPreferable ? { 204: { description, headers: { ...headers, ...preferred } } } : {};
};

const orNoBody = ({ isGeneric: isPreferable }: ResourceOperations) =>
  isPreferable ? "; without a body if the client preferred that, or may not read it." : ".";

/** The response with a resource; the generic one also with selected fields. */
const resourceResponse = (
  { isGeneric: isPreferable, schemas }: ResourceOperations,
  description: string,
  headers: object,
) => {
  const whole = schema(schemas.resource);
  const shape = isPreferable ? { anyOf: [whole, schema("Selected")] } : whole;
  return response(description, "application/json", shape, headers);
};

/** Forms are described in the generic operation only: a typed client sends JSON. */
const draftTypes = ({ isGeneric: isPreferable, schemas }: ResourceOperations) => ({
  "application/json": schemas.draft,
  ...(isPreferable ? { "application/x-www-form-urlencoded": schemas.draft } : {}),
});

const draftBody = (operations: ResourceOperations) => {
  const { content, ...rest } = body(draftTypes(operations), operations.maxBodyBytes);
  const others = { ...bulkTypes, ...uploadTypes };
  return { ...rest, content: operations.isGeneric ? { ...content, ...others } : content };
};

const formRedirect = ({ isGeneric: isPreferable }: ResourceOperations) => {
  const words =
    "The resource was created from a form by a client that prefers HTML: redirects to a page.";
  const headers = { ...commonHeaders, Location: header("NextPage"), ...replayed };
  return isPreferable ? { 303: response(words, "text/html", text, headers) } : {};
};

/** The page as JSON; the generic operation also describes other formats. */
const listResponse = (operations: ResourceOperations) => {
  const page = response("The page.", "application/json", operations.listed, {
    ...validators,
    Link: header("Link"),
    "X-Total-Count": header("XTotalCount"),
  });
  const { content, ...rest } = page;
  return { ...rest, content: operations.isGeneric ? { ...content, ...listFormats } : content };
};

const bulkCreated = ({ isGeneric: isPreferable }: ResourceOperations) =>
  isPreferable ? { 200: bulkResponse } : {};

export const list = (operations: ResourceOperations) => ({
  operationId: operations.operationIds.list,
  summary: `A page of ${operations.place}`,
  description: operations.aboutList,
  tags: [operations.tag],
  security: operations.security("read"),
  parameters: [...operations.listParameters, ...conditions],
  responses: {
    200: listResponse(operations),
    304: notModified,
    ...problems(...readProblems, 404, 410, 412),
  },
});

export const create = (operations: ResourceOperations) => ({
  operationId: operations.operationIds.create,
  summary: `Create a resource in ${operations.place}`,
  description:
    "The server chooses the id; two equal POSTs create two resources, unless they have the same Idempotency-Key. 201 means that the resource is on disk.",
  tags: [operations.tag],
  security: operations.security("create"),
  parameters: [
    ...(operations.isGeneric ? [parameter("atomic")] : []),
    operations.idempotencyKey,
    ...preferences(operations),
  ],
  requestBody: draftBody(operations),
  responses: {
    ...bulkCreated(operations),
    201: resourceResponse(operations, `The resource, as a GET returns it${orNoBody(operations)}`, {
      ...validators,
      ...locationHeaders,
      ...preferred,
      ...replayed,
    }),
    ...formRedirect(operations),
    ...problems(...writeProblems, 404, 409, 410, 422),
  },
});

export const get = (operations: ResourceOperations) => ({
  operationId: operations.operationIds.get,
  summary: `A resource of ${operations.place}`,
  tags: [operations.tag],
  security: operations.security("read"),
  parameters: [...(operations.isGeneric ? [parameter("fields")] : []), ...conditions],
  responses: {
    200: resourceResponse(operations, "The resource.", validators),
    304: notModified,
    ...problems(...readProblems, 404, 412),
  },
});

export const put = (operations: ResourceOperations) => ({
  operationId: operations.operationIds.put,
  summary: `Create or replace a resource in ${operations.place}`,
  description:
    "The client chooses the id. An existing resource is replaced, never merged. Creating needs the scope `create`, replacing `update`. The response has no ETag, because the stored bytes differ from the sent ones (RFC 9110 §9.3.4); GET returns it.",
  tags: [operations.tag],
  security: operations.security("create", "update"),
  parameters: [...preconditions, ...preferences(operations)],
  requestBody: jsonBody(operations.schemas.replacement, operations.maxBodyBytes),
  responses: {
    200: resourceResponse(operations, "The resource, replaced.", {
      ...commonHeaders,
      ...contentLocation,
      ...preferred,
    }),
    201: resourceResponse(operations, `The resource, created${orNoBody(operations)}`, {
      ...commonHeaders,
      ...locationHeaders,
      ...preferred,
    }),
    ...minimal(operations, commonHeaders),
    ...problems(...writeProblems, 404, 409, 412, 428),
  },
});

export const patch = (operations: ResourceOperations) => ({
  operationId: operations.operationIds.patch,
  summary: `Change parts of a resource of ${operations.place}`,
  description:
    "The patch is applied completely or not at all. 409 when a JSON Patch does not apply to the current state, including a failed `test`.",
  tags: [operations.tag],
  security: operations.security("update"),
  parameters: [...preconditions, ...preferences(operations)],
  requestBody: body(
    {
      "application/merge-patch+json": operations.schemas.patch,
      "application/json-patch+json": "JsonPatch",
      "application/json": operations.schemas.patch,
    },
    operations.maxBodyBytes,
  ),
  responses: {
    200: resourceResponse(operations, "The resource, changed.", {
      ...validators,
      ...contentLocation,
      ...preferred,
    }),
    ...minimal(operations, validators),
    ...problems(...writeProblems, 404, 409, 412, 428),
  },
});

export const remove = (operations: ResourceOperations) => ({
  operationId: operations.operationIds.remove,
  summary: `Delete a resource of ${operations.place}`,
  tags: [operations.tag],
  security: operations.security("delete"),
  parameters: preconditions,
  responses: {
    204: { description: "The resource was deleted.", headers: commonHeaders },
    ...problems(400, 401, 403, 404, 412, 414, 428, 500, 503, 507),
  },
});

/** The operations on any collection, including one that does not exist yet. */
const genericOperations = (maxBodyBytes: number): ResourceOperations => ({
  tag: "Resources",
  operationIds: {
    list: "listResources",
    create: "createResource",
    get: "getResource",
    put: "putResource",
    patch: "patchResource",
    remove: "deleteResource",
  },
  place: "a collection",
  schemas: {
    resource: "Resource",
    draft: "Draft",
    replacement: "Replacement",
    patch: "MergePatch",
  },
  aboutList:
    "In the order of creation, unless `sort` or `q` say otherwise, and with an exact total; past the end it is empty. With `since`, the response has the changes after that position instead. The method QUERY (RFC 10008), which OpenAPI 3.1 cannot describe, takes the same request as a JSON body.",
  listed: { oneOf: [schema("Page"), schema("Feed")] },
  listParameters: [
    "page",
    "limit",
    "sort",
    "q",
    "cursor",
    "total",
    "fields",
    "since",
    "filters",
  ].map(parameter),
  idempotencyKey: parameter("idempotencyKey"),
  isGeneric: true,
  maxBodyBytes,
  security: (...verbs) => verbs.map((verb) => ({ bearer: [`{collection}:${verb}`] })),
});

export function resourcePaths(maxBodyBytes: number) {
  const operations = genericOperations(maxBodyBytes);
  return {
    "/{collection}": {
      parameters: [parameter("collection")],
      get: list(operations),
      post: create(operations),
    },
    "/{collection}/{id}": {
      parameters: [parameter("collection"), parameter("id")],
      get: get(operations),
      put: put(operations),
      patch: patch(operations),
      delete: remove(operations),
    },
    "/-/batch": { post: batch(maxBodyBytes) },
  };
}

const batch = (maxBodyBytes: number) => ({
  operationId: "runBatch",
  summary: "Run several changes in one transaction",
  description: `1 to ${maxOperations} operations in one transaction: all of them happen, or none. Each operation sees the state that the earlier ones leave, needs its own scope and may have its own precondition. The response to a rejected batch is the problem of the first failed operation, and \`errors\` points to it.`,
  tags: ["Resources"],
  security: [{ bearer: [] }],
  parameters: [parameter("fields"), parameter("idempotencyKey")],
  requestBody: jsonBody("Batch", maxBodyBytes),
  responses: {
    200: json("The result of each operation, in order.", "BatchResults", {
      ...commonHeaders,
      ...replayed,
    }),
    ...problems(...writeProblems, 404, 409, 410, 412, 422, 428),
  },
});
