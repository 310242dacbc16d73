// The OpenAPI 3.1 document of what runs: every route, what it takes and what it answers.

import type { Verb } from "../model/token.ts";
import type { House } from "./exchange.ts";
import { components, header, parameter, problems } from "./openapi-components.ts";
import { schema } from "./openapi-schemas.ts";

/** The routes of `routes.ts` in OpenAPI's spelling; a test holds the two to each other. */
export function openapiDocument(house: House): unknown {
  return {
    openapi: "3.1.1",
    info: {
      title: "Restante",
      version: house.version,
      summary: "POST it, GET it back: a durable HTTP API for any collection.",
      description: about,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: house.base === "" ? "/" : house.base }],
    tags: [
      { name: "Resources", description: "What people and programs keep here." },
      { name: "Tokens", description: "Who may do what; for administrators." },
      { name: "Server", description: "What is not user data; open to everyone." },
    ],
    paths: {
      ...resourcePaths(house.maxBodyBytes),
      ...tokenPaths(house.maxBodyBytes),
      ...serverPaths,
    },
    components: components(house.base),
  };
}

const about = `Every GET also answers HEAD: the same fields, no body. Every address answers OPTIONS without a token: \`Allow\`, and the CORS preflight.

Every refusal is a problem (RFC 9457) whose \`type\` is the address of a page about it. Besides those listed with an operation, any address may answer 408, 417, 431, 501 or 505 to a request that cannot be read at all. A method that an address does not have is answered with 405 and \`Allow\`, an address with a slash at its end with 308. Unknown and repeated query parameters are refused.`;

const commonHeaders = {
  "X-Request-Id": header("XRequestId"),
  "Cache-Control": header("CacheControl"),
};
const validators = {
  ...commonHeaders,
  ETag: header("ETag"),
  "Last-Modified": header("LastModified"),
};
const conditions = [parameter("ifNoneMatch"), parameter("ifModifiedSince")];
const notModified = { description: "The client has the current state.", headers: validators };

const ofEveryone = [400, 401, 406, 414, 500] as const;
const ofCallers = [...ofEveryone, 403, 503] as const;
const ofWriters = [...ofCallers, 413, 415, 507] as const;

function answer(description: string, type: string, shape: object, headers: object = commonHeaders) {
  return { description, headers, content: { [type]: { schema: shape } } };
}

const json = (description: string, name: string, headers?: object) =>
  answer(description, "application/json", schema(name), headers);

const jsonBody = (name: string, limitBytes: number) => ({
  description: `JSON in UTF-8, at most ${limitBytes} bytes.`,
  required: true,
  content: { "application/json": { schema: schema(name) } },
});

function resourcePaths(maxBodyBytes: number) {
  const forCallers = (verb: Verb) => ({
    tags: ["Resources"],
    security: [{ bearer: [`{collection}:${verb}`] }],
  });
  return {
    "/{collection}": {
      parameters: [parameter("collection")],
      get: {
        operationId: "listResources",
        summary: "A page of a collection",
        description:
          "In the order of creation, with an exact total. A page past the end is empty. Every page costs the same, however deep.",
        ...forCallers("read"),
        parameters: [parameter("page"), parameter("limit"), parameter("sort"), ...conditions],
        responses: {
          200: json("The page.", "Page", {
            ...validators,
            Link: header("Link"),
            "X-Total-Count": header("XTotalCount"),
          }),
          304: notModified,
          ...problems(...ofCallers, 404),
        },
      },
      post: {
        operationId: "createResource",
        summary: "Create a resource",
        description:
          "The server decides the address; two equal POSTs make two resources. 201 means that it is on disk. A POST by an admin token brings a collection into being.",
        ...forCallers("create"),
        requestBody: jsonBody("Draft", maxBodyBytes),
        responses: {
          201: json("The resource, as a GET of its address answers it.", "Resource", {
            ...validators,
            Location: header("Location"),
            "Content-Location": header("Location"),
          }),
          ...problems(...ofWriters, 404),
        },
      },
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
          ...problems(...ofCallers, 404),
        },
      },
    },
  };
}

function tokenPaths(maxBodyBytes: number) {
  const forAdmins = { tags: ["Tokens"], security: [{ bearer: ["admin"] }] };
  return {
    "/-/tokens": {
      get: {
        operationId: "listTokens",
        summary: "All tokens, dead and alive",
        ...forAdmins,
        responses: { 200: json("Without their secrets.", "Tokens"), ...problems(...ofCallers) },
      },
      post: {
        operationId: "createToken",
        summary: "Make a token",
        ...forAdmins,
        requestBody: jsonBody("TokenWish", maxBodyBytes),
        responses: {
          201: json("The token and its secret, which is shown this once.", "NewToken", {
            ...commonHeaders,
            Location: header("Location"),
          }),
          ...problems(...ofWriters),
        },
      },
    },
    "/-/tokens/{id}": {
      parameters: [parameter("tokenId")],
      get: {
        operationId: "getToken",
        summary: "A token",
        ...forAdmins,
        responses: { 200: json("Without its secret.", "Token"), ...problems(...ofCallers, 404) },
      },
      delete: {
        operationId: "revokeToken",
        summary: "Revoke a token",
        description:
          "Takes effect at once. The record stays, with `revokedAt`; revoking again changes nothing.",
        ...forAdmins,
        responses: {
          204: { description: "The token is dead.", headers: commonHeaders },
          ...problems(400, 401, 403, 404, 414, 500, 503, 507),
        },
      },
    },
  };
}

const forEveryone = { tags: ["Server"], security: [] };

/** A page that stays as it is while the program runs. */
const page = (operationId: string, summary: string, type: string, shape: object) => ({
  operationId,
  summary,
  ...forEveryone,
  parameters: conditions,
  responses: {
    200: answer("The page.", type, shape, validators),
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
const kindPage = page("getProblem", "What a kind of problem means", "text/html", html);

const serverPaths = {
  "/": { get: page("getHome", "Where to start", "application/json", schema("Home")) },
  "/-/health": { get: state("getHealth", "Is the process alive?") },
  "/-/ready": { get: state("getReady", "Can requests be served, writes included?", 503) },
  "/-/openapi.json": { get: page("getOpenapi", "This document", "application/json", anyObject) },
  "/-/problems": { get: page("listProblems", "Every kind of problem", "text/html", html) },
  "/-/problems/{kind}": {
    parameters: [parameter("kind")],
    get: { ...kindPage, responses: { ...kindPage.responses, ...problems(404) } },
  },
  "/.well-known/api-catalog": {
    get: page("getApiCatalog", catalog, "application/linkset+json", anyObject),
  },
};
