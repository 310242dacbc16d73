// What the operations of the OpenAPI document share: parameters, header fields, and a response per status.

import { collectionName, resourceId } from "../model/id.ts";
import { pageLimits } from "../model/page.ts";
import { Problem, type ProblemKind, problemKinds } from "../model/problem.ts";
import { schema, schemas, text } from "./openapi-schemas.ts";
import { problemBody, problemStatus } from "./problem.ts";
import { sorts } from "./query.ts";

type Shapes = Readonly<Record<string, object>>;

const reference = (kind: string) => (name: string) => ({ $ref: `#/components/${kind}/${name}` });
export const parameter = reference("parameters");
export const header = reference("headers");

/** The refusals with these statuses. */
export function problems(...statuses: readonly number[]): Shapes {
  const refer = reference("responses");
  return Object.fromEntries(statuses.map((status) => [status, refer(`Problem${status}`)]));
}

export const components = (base: string) => ({
  securitySchemes: { bearer },
  parameters,
  headers,
  schemas,
  responses: problemResponses(base),
});

const bearer = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "rst_ and 49 letters and digits",
  description:
    "A token, in the Authorization header only; credentials in a URL are refused. Scopes: `{collection}:{read|create|update|delete}`, where `*` stands for every collection or every verb; `admin` may do everything, make tokens and bring collections into being.",
};

const inPath = (name: string, shape: object) => ({
  name,
  in: "path",
  required: true,
  schema: shape,
});
const inQuery = (name: string, description: string, shape: object) => ({
  name,
  in: "query",
  description,
  schema: shape,
});
const inHeader = (name: string, description: string) => ({
  name,
  in: "header",
  description,
  schema: text,
});

const parameters: Shapes = {
  collection: inPath("collection", { type: "string", pattern: collectionName.source }),
  id: inPath("id", { type: "string", pattern: resourceId.source }),
  tokenId: inPath("id", { type: "string", format: "uuid" }),
  kind: inPath("kind", { type: "string", enum: Object.keys(problemKinds) }),
  page: inQuery("page", "Counted from 1.", { type: "integer", minimum: 1, default: 1 }),
  limit: inQuery("limit", "How many on a page; out of range is refused, never clamped.", {
    type: "integer",
    minimum: 1,
    maximum: pageLimits.maxLimit,
    default: pageLimits.defaultLimit,
  }),
  sort: inQuery("sort", "`-createdAt`: newest first.", {
    type: "string",
    enum: sorts,
    default: sorts[0],
  }),
  ifNoneMatch: inHeader("If-None-Match", "The ETag of what the client has: 304 if it is current."),
  ifModifiedSince: inHeader("If-Modified-Since", "Like If-None-Match, by time and less exact."),
};

const field = (description: string, shape: object = text) => ({ description, schema: shape });

const headers: Shapes = {
  XRequestId: field("Names this exchange in the log."),
  CacheControl: field("Who may keep the answer, and for how long."),
  ETag: field("Strong; changes with every change."),
  LastModified: field("An HTTP date."),
  Location: field("The address of what was made.", { type: "string", format: "uri-reference" }),
  Link: field("`first`, `prev`, `next` and `last` (RFC 8288)."),
  XTotalCount: field("As `total` in the body.", { type: "integer", minimum: 0 }),
  WWWAuthenticate: field("The challenge of RFC 6750."),
  AcceptPost: field("The media types that are taken."),
  RetryAfter: field("In seconds.", { type: "integer", minimum: 0 }),
};

/** The fields that go with a status beyond those of every answer. */
const fieldsOfStatus: Readonly<Record<number, Shapes>> = {
  401: { "WWW-Authenticate": header("WWWAuthenticate") },
  403: { "WWW-Authenticate": header("WWWAuthenticate") },
  415: { "Accept-Post": header("AcceptPost") },
  503: { "Retry-After": header("RetryAfter") },
};

/** Those of the parser and of addresses without the method are told of in the document's description. */
const withoutOperation: ReadonlySet<ProblemKind> = new Set([
  "method-not-allowed",
  "timeout",
  "conflict",
  "expectation-failed",
  "header-too-large",
  "not-implemented",
  "version-not-supported",
]);

function problemResponses(base: string): Shapes {
  const responses: Record<string, object> = {};
  const kinds = (Object.keys(problemKinds) as ProblemKind[]).filter(
    (kind) => !withoutOperation.has(kind),
  );
  for (const status of new Set(kinds.map((kind) => problemStatus[kind]))) {
    const ofStatus = kinds.filter((kind) => problemStatus[kind] === status);
    responses[`Problem${status}`] = {
      description: ofStatus.map((kind) => `\`${kind}\`: ${problemKinds[kind].title}.`).join(" "),
      headers: {
        "X-Request-Id": header("XRequestId"),
        "Cache-Control": header("CacheControl"),
        ...fieldsOfStatus[status],
      },
      content: {
        "application/problem+json": {
          schema: schema("Problem"),
          examples: Object.fromEntries(ofStatus.map((kind) => [kind, problemExample(kind, base)])),
        },
      },
    };
  }
  return responses;
}

function problemExample(kind: ProblemKind, base: string) {
  const [detail = ""] = problemKinds[kind].about.split(/(?<=\.) /);
  const body = problemBody(new Problem(kind, detail), base, `${base}/people`, "5b2f8c1e-1");
  return { summary: problemKinds[kind].title, value: JSON.parse(body) };
}
