// Lists the routes of administrators: collections, access, queries, metrics, backups, status, settings and tokens.

import { pageLimits } from "../../model/query/list-request.ts";
import { backupListSchema } from "../../model/schemas/backup.ts";
import { callerSchema } from "../../model/schemas/caller.ts";
import { collectionListSchema } from "../../model/schemas/collection.ts";
import { reloadedSchema, settingListSchema } from "../../model/schemas/setting.ts";
import { slowQueryListSchema } from "../../model/schemas/slow-query.ts";
import { statusSchema } from "../../model/schemas/status.ts";
import {
  issuedTokenSchema,
  tokenIdSchema,
  tokenListSchema,
  tokenRequestSchema,
  tokenSchema,
} from "../../model/schemas/token.ts";
import { replaceAccessDocument, showAccessDocument } from "../openapi/access.ts";
import {
  define,
  drop,
  replaceDefinition,
  showCollection,
  showDefinition,
} from "../openapi/definitions.ts";
import { headers } from "../openapi/headers.ts";
import { parameters } from "../openapi/parameters.ts";
import { json, jsonContent, noContent, response } from "../openapi/responses.ts";
import { explain, showResourceRights, showRights } from "../openapi/rights.ts";
import { type Routes, route } from "../request/route.ts";
import { getAccessDocument, putAccessDocument } from "./access.ts";
import { listBackups } from "./backups.ts";
import {
  deleteCollection,
  getCollection,
  getDefinition,
  listCollections,
  putCollection,
  putDefinition,
} from "./collections.ts";
import { endCredential, getCaller } from "./me.ts";
import { getMetrics } from "./metrics.ts";
import { listSlowQueries } from "./queries.ts";
import { explainAccess, getOwnRights } from "./rights.ts";
import { listSettings, reloadSettings } from "./settings.ts";
import { getStatus } from "./status.ts";
import { createToken, getToken, listTokens, revokeToken } from "./tokens.ts";

export const adminRoutes: Routes = {
  listCollections: route("GET /-/collections", "admin", listCollections, {
    summary: "All collections",
    responses: { 200: json("Their names, definitions and sizes.", collectionListSchema) },
  }),
  getCollection: route("GET /-/collections/{name}", "admin", getCollection, showCollection),
  putCollection: route("PUT /-/collections/{name}", "admin", putCollection, define),
  deleteCollection: route("DELETE /-/collections/{name}", "admin", deleteCollection, drop),
  getDefinition: route(
    "GET /-/collections/{name}/definition",
    "admin",
    getDefinition,
    showDefinition,
  ),
  putDefinition: route(
    "PUT /-/collections/{name}/definition",
    "admin",
    putDefinition,
    replaceDefinition,
  ),

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

  getStatus: route("GET /-/status", "admin", getStatus, {
    summary: "The work of the server in the background",
    description:
      "Every task with its last run, its error and its next run, in the order of their names. With several processes, those of the process that answers and of the first one. Each node has its own.",
    responses: { 200: json("How each task is doing.", statusSchema) },
  }),

  listSettings: route("GET /-/settings", "admin", listSettings, {
    summary: "The settings of the server",
    description:
      "Every setting with its value and where it comes from. Secrets are left out: of a database only scheme, host and path are shown.",
    responses: { 200: json("In the order of the documentation.", settingListSchema) },
  }),
  reloadSettings: route("POST /-/settings", "admin", reloadSettings, {
    summary: "Reload the settings",
    description:
      "Reads the configuration file, the definitions and the actions again, as SIGHUP does, in all processes of the server. Requests in progress end with the previous settings. If anything is invalid, it is 409 with all errors, and nothing is changed.",
    responses: { 200: json("What has changed.", reloadedSchema) },
    problems: [400, 409],
  }),

  getCaller: route("GET /-/me", "token", getCaller, {
    summary: "Who the caller is",
    description: "Whom the token of the request stands for, and what it allows now.",
    responses: { 200: json("The caller.", callerSchema) },
  }),
  endCredential: route("DELETE /-/me/credential", "token", endCredential, {
    summary: "End the token of the request",
    description: "Takes effect immediately, as when an administrator revokes it.",
    responses: { 204: noContent("The token is revoked.") },
  }),

  listTokens: route("GET /-/tokens", "admin", listTokens, {
    summary: "List tokens, revoked and expired ones included",
    description: `In the order of their ids. A page has up to ${pageLimits.maxLimit}, which is also the default.`,
    parameters: [parameters.page, parameters.tokenLimit, parameters.tokenSubject],
    responses: {
      200: json("Without their secrets.", tokenListSchema, { Link: headers.link }),
    },
  }),
  createToken: route("POST /-/tokens", "issue", createToken, {
    summary: "Create a token",
    description:
      "With an `Idempotency-Key`, a repeated request creates no second token: it is 409, and its detail names the first. With the scope `issue:{role}` in place of `admin` a token has roles that the caller may issue, no scopes, no chosen subject, and ends within 90 days.",
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
      "Takes effect immediately. The record stays, with `revokedAt`; revoking again changes nothing.",
    path: { id: tokenIdSchema },
    responses: { 204: noContent("The token is revoked.") },
    problems: [404],
  }),
};
