// Lists every route: method, path, permission, handler, request and responses.

import { actionListSchema, actionNameSchema } from "../model/action-schema.ts";
import { backupListSchema } from "../model/schemas/backup.ts";
import { batchLimits, batchResultsSchema, batchSchema } from "../model/schemas/batch.ts";
import { collectionListSchema, collectionSchema } from "../model/schemas/collection.ts";
import { problemKindSchema } from "../model/schemas/problem.ts";
import { querySchema } from "../model/schemas/query.ts";
import {
  collectionNameSchema,
  fileNameSchema,
  pageSchema,
  resourceIdSchema,
} from "../model/schemas/resource.ts";
import { healthSchema, homeSchema } from "../model/schemas/server.ts";
import { slowQueryListSchema } from "../model/schemas/slow-query.ts";
import {
  issuedTokenSchema,
  tokenIdSchema,
  tokenListSchema,
  tokenRequestSchema,
  tokenSchema,
} from "../model/schemas/token.ts";
import { listActions, runAction } from "./actions/actions.ts";
import { getAccessDocument, putAccessDocument } from "./admin/access.ts";
import { listBackups } from "./admin/backups.ts";
import {
  deleteCollection,
  getCollection,
  listCollections,
  putCollection,
} from "./admin/collections.ts";
import { getMetrics } from "./admin/metrics.ts";
import {
  apiCatalog,
  createdPage,
  health,
  home,
  openapiPage,
  problemIndex,
  problemPage,
  ready,
} from "./admin/pages.ts";
import { listSlowQueries } from "./admin/queries.ts";
import { explainAccess, getOwnRights } from "./admin/rights.ts";
import { createToken, getToken, listTokens, revokeToken } from "./admin/tokens.ts";
import { getFile } from "./files/download.ts";
import { signUrl } from "./files/signed-urls.ts";
import { replaceAccessDocument, showAccessDocument } from "./openapi/access.ts";
import { anyAction } from "./openapi/actions.ts";
import { define, drop } from "./openapi/definitions.ts";
import { signFileUrl } from "./openapi/files.ts";
import { storedFileBytes } from "./openapi/formats.ts";
import { headers, validators } from "./openapi/headers.ts";
import { conditions, parameters } from "./openapi/parameters.ts";
import {
  anyCollection,
  create,
  get,
  list,
  patch,
  put,
  remove,
  upsert,
} from "./openapi/resources.ts";
import { json, jsonContent, noContent, notModified, page, response } from "./openapi/responses.ts";
import { explain, showResourceRights, showRights } from "./openapi/rights.ts";
import { type Routes, route } from "./request/route.ts";
import { runBatch } from "./resources/batch.ts";
import { listResources, queryResources } from "./resources/list.ts";
import {
  createResource,
  deleteResource,
  getResource,
  patchResource,
  putResource,
  upsertResource,
} from "./resources/resources.ts";

const fileHeaders = {
  ...validators,
  "Accept-Ranges": headers.acceptRanges,
  "Content-Disposition": headers.contentDisposition,
  "Repr-Digest": headers.reprDigest,
};

const inCollection = { collection: collectionNameSchema };
const ofResource = { ...inCollection, id: resourceIdSchema };

/** The routes by the ids of their operations. */
export const routes: Routes = {
  listResources: route("GET /{collection}", "read", listResources, {
    ...list(anyCollection),
    path: inCollection,
  }),
  createResource: route("POST /{collection}", "create", createResource, {
    ...create(anyCollection),
    path: inCollection,
  }),
  upsertResource: route("PUT /{collection}", "put", upsertResource, {
    ...upsert(anyCollection),
    path: inCollection,
  }),
  queryResources: route("QUERY /{collection}", "read", queryResources, {
    summary: "A page of a collection, with the query in the body",
    description: "With `aggregate`, the response is a `GroupList` instead.",
    path: inCollection,
    body: jsonContent(querySchema),
    responses: {
      200: json("The page.", pageSchema, {
        "X-Total-Count": headers.totalCount,
        "Server-Timing": headers.serverTiming,
      }),
    },
    problems: [404, 504],
  }),
  getResource: route("GET /{collection}/{id}", "read", getResource, {
    ...get(anyCollection),
    path: ofResource,
  }),
  putResource: route("PUT /{collection}/{id}", "put", putResource, {
    ...put(anyCollection),
    path: ofResource,
  }),
  patchResource: route("PATCH /{collection}/{id}", "update", patchResource, {
    ...patch(anyCollection),
    path: ofResource,
  }),
  deleteResource: route("DELETE /{collection}/{id}", "delete", deleteResource, {
    ...remove(anyCollection),
    path: ofResource,
  }),
  getFile: route("GET /{collection}/{id}/{name}", "read", getFile, {
    summary: "The bytes of a file",
    description:
      "The bytes as they were sent, with the media type that the client sent, such as `image/png`. The ETag is their hash. A caller who may read the resource may read its files. A `Range` returns that part, several return multipart/byteranges.",
    path: { ...ofResource, name: fileNameSchema },
    parameters: [
      parameters.signature,
      ...conditions,
      ...[parameters.ifMatch, parameters.range, parameters.ifRange, parameters.download],
    ],
    responses: {
      200: response("The whole file.", storedFileBytes, {
        ...fileHeaders,
        "Content-Digest": headers.contentDigest,
      }),
      206: response("The requested ranges.", storedFileBytes, {
        ...fileHeaders,
        "Content-Range": headers.contentRange,
      }),
      304: notModified,
    },
    problems: [404, 412, 416],
  }),

  signUrl: route("POST /-/signed-urls", "optional-token", signUrl, signFileUrl),

  runBatch: route("POST /-/batch", "token", runBatch, {
    summary: "Run several changes in one transaction",
    description: `1 to ${batchLimits.maxOperations} operations in one transaction: all of them happen, or none. Each operation sees the state that the earlier ones leave, needs its own scope and may have its own precondition. The response to a rejected batch is the problem of the first failed operation, and \`errors\` points to it.`,
    parameters: [parameters.fields, parameters.idempotencyKey],
    body: jsonContent(batchSchema),
    responses: {
      200: json("The result of each operation, in order.", batchResultsSchema, {
        "Idempotency-Replayed": headers.idempotencyReplayed,
      }),
    },
    problems: [404, 409, 410, 412, 422, 428],
  }),

  listActions: route("GET /-/actions", "token", listActions, {
    summary: "The actions that the token may run",
    responses: { 200: json("Their names, descriptions and schemas.", actionListSchema) },
  }),
  runAction: route("POST /-/actions/{name}", "action", runAction, {
    ...anyAction,
    path: { name: actionNameSchema },
  }),

  listCollections: route("GET /-/collections", "admin", listCollections, {
    summary: "All collections",
    responses: { 200: json("Their names, definitions and sizes.", collectionListSchema) },
  }),
  getCollection: route("GET /-/collections/{name}", "admin", getCollection, {
    summary: "A collection",
    path: { name: collectionNameSchema },
    responses: { 200: json("The collection.", collectionSchema) },
    problems: [404],
  }),
  putCollection: route("PUT /-/collections/{name}", "admin", putCollection, define),
  deleteCollection: route("DELETE /-/collections/{name}", "admin", deleteCollection, drop),

  getRights: route("GET /-/access/{collection}", "optional-token", getOwnRights, showRights),
  getResourceRights: route(
    "GET /-/access/{collection}/{id}",
    "optional-token",
    getOwnRights,
    showResourceRights,
  ),

  getAccessDocument: route("GET /-/access", "admin", getAccessDocument, showAccessDocument),
  putAccessDocument: route("PUT /-/access", "admin", putAccessDocument, replaceAccessDocument),
  explainAccess: route("QUERY /-/access", "admin", explainAccess, explain),
  listSlowQueries: route("GET /-/queries", "admin", listSlowQueries, {
    summary: "Slow queries since the start of the process",
    description:
      "Queries that took a second or more, that checked 1,000 resources or more one by one, or that were stopped at the deadline: the 100 latest shapes, without values, the longest total time first. With several processes, each has its own.",
    responses: { 200: json("With the indexes that would help.", slowQueryListSchema) },
  }),

  getMetrics: route("GET /-/metrics", "metrics", getMetrics, {
    summary: "Metrics for Prometheus",
    description:
      "What is counted since the start, in the text format of Prometheus, added up over all processes of the server. It needs the scope `metrics`; `--metrics-port` opens it on another port, without a token.",
    responses: {
      200: response("In the text format, version 0.0.4.", {
        "text/plain": { schema: { type: "string" } },
      }),
    },
  }),

  listBackups: route("GET /-/backups", "admin", listBackups, {
    summary: "Scheduled backups",
    description:
      "The last 20 backups of `--backup-to` and how they went, the newest first, and when the next one begins.",
    responses: { 200: json("Also while one runs.", backupListSchema) },
  }),

  listTokens: route("GET /-/tokens", "admin", listTokens, {
    summary: "List all tokens, revoked and expired ones included",
    responses: { 200: json("Without their secrets.", tokenListSchema) },
  }),
  createToken: route("POST /-/tokens", "admin", createToken, {
    summary: "Create a token",
    description:
      "With an `Idempotency-Key`, a repeated request creates no second token: it is 409, and its detail names the first.",
    parameters: [parameters.idempotencyKey],
    body: jsonContent(tokenRequestSchema),
    responses: {
      201: json("The token and its secret, which is shown only once.", issuedTokenSchema, {
        Location: headers.location,
      }),
    },
    problems: [409, 422],
  }),
  getToken: route("GET /-/tokens/{id}", "admin", getToken, {
    summary: "A token",
    path: { id: tokenIdSchema },
    responses: { 200: json("Without its secret.", tokenSchema) },
    problems: [404],
  }),
  revokeToken: route("DELETE /-/tokens/{id}", "admin", revokeToken, {
    summary: "Revoke a token",
    description:
      "Takes effect at once. The record stays, with `revokedAt`; revoking again changes nothing.",
    path: { id: tokenIdSchema },
    responses: { 204: noContent("The token is revoked.") },
    problems: [404],
  }),

  getHome: route("GET /", "anyone", home, {
    summary: "Where to start",
    ...page("application/json", homeSchema, { ...validators, Link: headers.link }),
  }),
  getHealth: route("GET /-/health", "anyone", health, {
    summary: "Is the process alive?",
    responses: { 200: json("Yes.", healthSchema) },
  }),
  getReady: route("GET /-/ready", "anyone", ready, {
    summary: "Can requests be served, writes included?",
    responses: { 200: json("Yes.", healthSchema) },
    problems: [503],
  }),
  getOpenapi: route(
    "GET /-/openapi.json",
    "optional-token",
    openapiPage(() => routes),
    {
      summary: "This document",
      description:
        "It describes the collections that the caller may see: the public ones, and with a token those that its scopes allow.",
      parameters: [parameters.version, parameters.ifNoneMatch],
      responses: {
        200: json("The document.", { type: "object" }, { ETag: headers.etag }),
        304: noContent("The client has the current state.", { ETag: headers.etag }),
      },
    },
  ),
  listProblems: route("GET /-/problems", "anyone", problemIndex, {
    summary: "Every kind of problem",
    ...page("text/html"),
  }),
  getProblem: route("GET /-/problems/{kind}", "anyone", problemPage, {
    summary: "What a kind of problem means",
    path: { kind: problemKindSchema },
    ...page("text/html"),
    problems: [404],
  }),
  getCreated: route("GET /-/created", "anyone", createdPage, {
    summary: "The page after an accepted form",
    ...page("text/html"),
  }),
  getApiCatalog: route("GET /.well-known/api-catalog", "anyone", apiCatalog, {
    summary: "The API catalog (RFC 9727)",
    ...page("application/linkset+json", { type: "object" }, { ...validators, Link: headers.link }),
  }),
};
