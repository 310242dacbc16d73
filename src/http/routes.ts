// Lists every route: method, path, permission, handler, request and responses.

import { actionListSchema, actionNameSchema } from "../model/action-schema.ts";
import { batchLimits, batchResultsSchema, batchSchema } from "../model/schemas/batch.ts";
import { problemKindSchema } from "../model/schemas/problem.ts";
import { querySchema } from "../model/schemas/query.ts";
import {
  collectionNameSchema,
  fileNameSchema,
  pageSchema,
  resourceIdSchema,
} from "../model/schemas/resource.ts";
import { healthSchema, homeSchema } from "../model/schemas/server.ts";
import { issuedTokenSchema, signInCodeSchema } from "../model/schemas/token.ts";
import { listActions, runAction } from "./actions/actions.ts";
import { consoleFile, consolePage } from "./admin/console.ts";
import { signInToConsole } from "./admin/console-sign-in.ts";
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
import { adminRoutes } from "./admin/routes.ts";
import { getFile } from "./files/download.ts";
import { deleteFile, putFile } from "./files/replace.ts";
import { signUrl } from "./files/signed-urls.ts";
import { uploadRoutes } from "./files/upload-routes.ts";
import { anyAction } from "./openapi/actions.ts";
import { pictureParameters, removeFile, replaceFile, signFileUrl } from "./openapi/files.ts";
import { storedFileBytes } from "./openapi/formats.ts";
import { headers, validators } from "./openapi/headers.ts";
import { conditions, parameters } from "./openapi/parameters.ts";
import {
  anyCollection,
  create,
  exported,
  get,
  imported,
  list,
  patch,
  put,
  remove,
  upsert,
} from "./openapi/resources.ts";
import { json, jsonContent, noContent, notModified, page, response } from "./openapi/responses.ts";
import { type Routes, route } from "./request/route.ts";
import { runBatch } from "./resources/batch.ts";
import { exportResources, listResources, queryResources } from "./resources/list.ts";
import {
  createResource,
  deleteResource,
  getResource,
  importResources,
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

const consoleFileTypes = {
  "text/javascript": { schema: { type: "string" } },
  "text/css": { schema: { type: "string" } },
  "image/svg+xml": { schema: { type: "string" } },
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
      parameters.ifMatch,
      parameters.range,
      parameters.ifRange,
      parameters.download,
      parameters.redirect,
      ...pictureParameters,
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
      307: noContent("The bytes are at this URL for a minute.", { Location: headers.fileLocation }),
    },
    problems: [404, 412, 416, 422, 501, 507],
  }),
  putFile: route("PUT /{collection}/{id}/{name}", "update", putFile, replaceFile),
  deleteFile: route("DELETE /{collection}/{id}/{name}", "update", deleteFile, removeFile),

  exportResources: route("GET /-/lines/{collection}", "read", exportResources, {
    ...exported,
    path: inCollection,
  }),
  importResources: route("POST /-/lines/{collection}", "create", importResources, {
    ...imported,
    path: inCollection,
  }),
  signUrl: route("POST /-/signed-urls", "optional-token", signUrl, signFileUrl),
  ...uploadRoutes,

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

  ...adminRoutes,

  getHome: route("GET /", "anyone", home, {
    summary: "Where to start",
    description: "A browser, which prefers HTML, is sent to the console.",
    parameters: conditions,
    responses: {
      200: json("The page.", homeSchema, { ...validators, Link: headers.link }),
      302: noContent("The console is there.", { Location: headers.consoleLocation }),
      304: notModified,
    },
  }),
  getConsole: route("GET /-/console", "anyone", consolePage, {
    summary: "The web console",
    ...page("text/html"),
    problems: [404],
  }),
  getConsoleFile: route("GET /-/console/{name}", "anyone", consoleFile, {
    summary: "A script or a style sheet of the console",
    path: { name: { type: "string", pattern: "^[\\w-]+\\.(?:js|css|svg)$" } },
    parameters: conditions,
    responses: { 200: response("The file.", consoleFileTypes, validators), 304: notModified },
    problems: [404],
  }),
  signInToConsole: route("POST /-/console/tokens", "anyone", signInToConsole, {
    summary: "Sign in to the console with the code of a link",
    description:
      "`restante console` prints the link. The code is used up, and an administrator's token of 12 hours takes its place in the same commit.",
    body: jsonContent(signInCodeSchema),
    responses: {
      201: json("The token and its secret, which is shown only once.", issuedTokenSchema, {
        Location: headers.location,
      }),
    },
    problems: [401, 404, 422],
  }),
  getDocs: route("GET /-/docs", "anyone", consolePage, {
    summary: "This document as a web page, in the console",
    ...page("text/html"),
    problems: [404],
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
