// The OpenAPI document's part about what is not user data: tokens, collections, and pages for everyone.

import {
  answer,
  commonHeaders,
  conditions,
  json,
  jsonBody,
  notModified,
  ofCallers,
  ofEveryone,
  ofWriters,
  validators,
} from "./answers.ts";
import { header, parameter, problems } from "./components.ts";
import { schema } from "./schemas.ts";

const forAdmins = (tag: string) => ({ tags: [tag], security: [{ bearer: ["admin"] }] });

export const tokenPaths = (maxBodyBytes: number) => ({
  "/-/tokens": {
    get: {
      operationId: "listTokens",
      summary: "All tokens, dead and alive",
      ...forAdmins("Tokens"),
      responses: { 200: json("Without their secrets.", "Tokens"), ...problems(...ofCallers) },
    },
    post: {
      operationId: "createToken",
      summary: "Make a token",
      description:
        "With an `Idempotency-Key`, a repetition makes no second token: it is 409, and its detail names the first.",
      ...forAdmins("Tokens"),
      parameters: [parameter("idempotencyKey")],
      requestBody: jsonBody("TokenWish", maxBodyBytes),
      responses: {
        201: json("The token and its secret, which is shown this once.", "NewToken", {
          ...commonHeaders,
          Location: header("Location"),
        }),
        ...problems(...ofWriters, 409, 422),
      },
    },
  },
  "/-/tokens/{id}": {
    parameters: [parameter("tokenId")],
    get: {
      operationId: "getToken",
      summary: "A token",
      ...forAdmins("Tokens"),
      responses: { 200: json("Without its secret.", "Token"), ...problems(...ofCallers, 404) },
    },
    delete: {
      operationId: "revokeToken",
      summary: "Revoke a token",
      description:
        "Takes effect at once. The record stays, with `revokedAt`; revoking again changes nothing.",
      ...forAdmins("Tokens"),
      responses: {
        204: { description: "The token is dead.", headers: commonHeaders },
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
        200: json("Their names, rules and sizes.", "Collections"),
        ...problems(...ofCallers),
      },
    },
  },
  "/-/collections/{name}": {
    parameters: [parameter("name")],
    get: {
      operationId: "getCollection",
      summary: "A collection",
      ...forAdmins("Collections"),
      responses: { 200: json("The collection.", "Collection"), ...problems(...ofCallers, 404) },
    },
    put: {
      operationId: "putCollection",
      summary: "Give a collection its rules",
      description:
        "Replaces the definition; a rule that is left out has its default. Brings the collection into being if need be, and touches none of its resources.",
      ...forAdmins("Collections"),
      parameters: [parameter("dryRun")],
      requestBody: jsonBody("Definition", maxBodyBytes),
      responses: {
        200: answer(
          "The collection, with its new rules; with `dry-run=true`, what would happen.",
          "application/json",
          { oneOf: [schema("DefinedCollection"), schema("DryRun")] },
        ),
        201: json("The collection, brought into being.", "DefinedCollection"),
        ...problems(...ofWriters, 404, 409),
      },
    },
    delete: {
      operationId: "deleteCollection",
      summary: "Delete a collection",
      description: "For ever. Where there are resources in it, only with `confirm`.",
      ...forAdmins("Collections"),
      parameters: [parameter("confirm")],
      responses: {
        204: { description: "It is gone.", headers: commonHeaders },
        ...problems(400, 401, 403, 404, 409, 414, 500, 503, 507),
      },
    },
  },
});

const forEveryone = { tags: ["Server"], security: [] };

/** A page that stays as it is while the program runs. */
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
    200: answer("The page.", type, shape, headers),
    304: notModified,
    ...problems(...ofEveryone),
  },
});

const state = (operationId: string, summary: string, ...statuses: readonly number[]) => ({
  operationId,
  summary,
  ...forEveryone,
  responses: { 200: json("Yes.", "State"), ...problems(...ofEveryone, ...statuses) },
});

const anyObject = { type: "object" };
const html = { type: "string" };
const catalog = "Where a machine starts that knows only the host (RFC 9727)";
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
        "It knows the collections that the asker may see: those that are open to everyone, and with a token those that its scopes reach.",
      security: [{}, { bearer: [] }],
      parameters: [parameter("ifNoneMatch")],
      responses: {
        ...document.responses,
        200: answer("The document.", "application/json", anyObject, tagged),
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
    get: page("getCreated", "Where a browser lands whose form was accepted", "text/html", html),
  },
  "/.well-known/api-catalog": {
    get: page("getApiCatalog", catalog, "application/linkset+json", anyObject, linked),
  },
};
