// Describes the routes of tokens, collections and the server in the OpenAPI document.

import {
  commonHeaders,
  conditions,
  json,
  jsonBody,
  notModified,
  publicProblems,
  readProblems,
  response,
  validators,
  writeProblems,
} from "./answers.ts";
import { header, parameter, problems } from "./components.ts";
import { schema } from "./schemas.ts";

const forAdmins = (tag: string) => ({ tags: [tag], security: [{ bearer: ["admin"] }] });

export const tokenPaths = (maxBodyBytes: number) => ({
  "/-/tokens": {
    get: {
      operationId: "listTokens",
      summary: "List all tokens, revoked and expired ones included",
      ...forAdmins("Tokens"),
      responses: { 200: json("Without their secrets.", "TokenList"), ...problems(...readProblems) },
    },
    post: {
      operationId: "createToken",
      summary: "Create a token",
      description:
        "With an `Idempotency-Key`, a repeated request creates no second token: it is 409, and its detail names the first.",
      ...forAdmins("Tokens"),
      parameters: [parameter("idempotencyKey")],
      requestBody: jsonBody("TokenRequest", maxBodyBytes),
      responses: {
        201: json("The token and its secret, which is shown only once.", "IssuedToken", {
          ...commonHeaders,
          Location: header("Location"),
        }),
        ...problems(...writeProblems, 409, 422),
      },
    },
  },
  "/-/tokens/{id}": {
    parameters: [parameter("tokenId")],
    get: {
      operationId: "getToken",
      summary: "A token",
      ...forAdmins("Tokens"),
      responses: { 200: json("Without its secret.", "Token"), ...problems(...readProblems, 404) },
    },
    delete: {
      operationId: "revokeToken",
      summary: "Revoke a token",
      description:
        "Takes effect at once. The record stays, with `revokedAt`; revoking again changes nothing.",
      ...forAdmins("Tokens"),
      responses: {
        204: { description: "The token is revoked.", headers: commonHeaders },
        ...problems(400, 401, 403, 404, 414, 500, 503, 507),
      },
    },
  },
});

export const collectionPaths = (maxBodyBytes: number) => ({
  "/-/collections": {
    get: {
      operationId: "listCollections",
      summary: "All collections",
      ...forAdmins("Collections"),
      responses: {
        200: json("Their names, definitions and sizes.", "Collections"),
        ...problems(...readProblems),
      },
    },
  },
  "/-/collections/{name}": {
    parameters: [parameter("name")],
    get: {
      operationId: "getCollection",
      summary: "A collection",
      ...forAdmins("Collections"),
      responses: { 200: json("The collection.", "Collection"), ...problems(...readProblems, 404) },
    },
    put: {
      operationId: "putCollection",
      summary: "Create or redefine a collection",
      description:
        "Replaces the definition; a member that is left out has its default. Creates the collection if it does not exist, and changes none of its resources.",
      ...forAdmins("Collections"),
      parameters: [parameter("dryRun")],
      requestBody: jsonBody("Definition", maxBodyBytes),
      responses: {
        200: response(
          "The collection with its new definition; with `dry-run=true`, what would happen.",
          "application/json",
          { oneOf: [schema("DefinedCollection"), schema("DryRun")] },
        ),
        201: json("The collection was created.", "DefinedCollection"),
        ...problems(...writeProblems, 404, 409),
      },
    },
    delete: {
      operationId: "deleteCollection",
      summary: "Delete a collection",
      description:
        "This cannot be undone. A collection with resources is deleted only with `confirm`.",
      ...forAdmins("Collections"),
      parameters: [parameter("confirm")],
      responses: {
        204: { description: "The collection was deleted.", headers: commonHeaders },
        ...problems(400, 401, 403, 404, 409, 414, 500, 503, 507),
      },
    },
  },
});

const forEveryone = { tags: ["Server"], security: [] };

/** A page that does not change while the program runs. */
const page = (
  operationId: string,
  summary: string,
  type: string,
  shape: object,
  headers: object = validators,
) => ({
  operationId,
  summary,
  ...forEveryone,
  parameters: conditions,
  responses: {
    200: response("The page.", type, shape, headers),
    304: notModified,
    ...problems(...publicProblems),
  },
});

const state = (operationId: string, summary: string, ...statuses: readonly number[]) => ({
  operationId,
  summary,
  ...forEveryone,
  responses: { 200: json("Yes.", "State"), ...problems(...publicProblems, ...statuses) },
});

const anyObject = { type: "object" };
const html = { type: "string" };
const catalog = "The API catalog (RFC 9727)";
const linked = { ...validators, Link: header("Link") };
const document = page("getOpenapi", "This document", "application/json", anyObject);
const tagged = { ...commonHeaders, ETag: header("ETag") };
const kindPage = page("getProblem", "What a kind of problem means", "text/html", html);

export const serverPaths = {
  "/": { get: page("getHome", "Where to start", "application/json", schema("Home"), linked) },
  "/-/health": { get: state("getHealth", "Is the process alive?") },
  "/-/ready": { get: state("getReady", "Can requests be served, writes included?", 503) },
  "/-/openapi.json": {
    get: {
      ...document,
      description:
        "It describes the collections that the caller may see: the public ones, and with a token those that its scopes allow.",
      security: [{}, { bearer: [] }],
      parameters: [parameter("ifNoneMatch")],
      responses: {
        ...document.responses,
        200: response("The document.", "application/json", anyObject, tagged),
        304: { ...notModified, headers: tagged },
        ...problems(503),
      },
    },
  },
  "/-/problems": { get: page("listProblems", "Every kind of problem", "text/html", html) },
  "/-/problems/{kind}": {
    parameters: [parameter("kind")],
    get: { ...kindPage, responses: { ...kindPage.responses, ...problems(404) } },
  },
  "/-/created": {
    get: page("getCreated", "The page after an accepted form", "text/html", html),
  },
  "/.well-known/api-catalog": {
    get: page("getApiCatalog", catalog, "application/linkset+json", anyObject, linked),
  },
};
