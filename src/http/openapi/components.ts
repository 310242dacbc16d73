// Builds the components of the OpenAPI document: parameters, headers and problem responses.

import { actionName } from "../../model/action.ts";
import { filePathPattern } from "../../model/file.ts";
import { collectionName, resourceId } from "../../model/id.ts";
import { Problem, type ProblemKind, problemKinds } from "../../model/problem.ts";
import { operators } from "../../model/query/list-request.ts";
import { pageLimits } from "../../model/query/page.ts";
import { problemBody, problemStatus } from "../problem.ts";
import { actionSchemas } from "./action-schemas.ts";
import { changeSchemas } from "./changes.ts";
import { schema, schemas, text } from "./schemas.ts";

type Schemas = Readonly<Record<string, object>>;

const reference = (kind: string) => (name: string) => ({ $ref: `#/components/${kind}/${name}` });
export const parameter = reference("parameters");
export const header = reference("headers");

/** References the problem responses with these statuses. */
export function problems(...statuses: readonly number[]): Schemas {
  const refer = reference("responses");
  return Object.fromEntries(statuses.map((status) => [status, refer(`Problem${status}`)]));
}

/** The schemas that every document has. */
export const ownSchemas: Schemas = { ...schemas, ...changeSchemas, ...actionSchemas };

/** Builds the components, with the schemas of the visible collections. */
export const components = (base: string, ofCollections: Schemas) => ({
  securitySchemes: { bearer },
  parameters,
  headers,
  schemas: { ...ownSchemas, ...ofCollections },
  responses: problemResponses(base),
});

const bearer = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "rst_ and 49 letters and digits",
  description:
    "A token, in the Authorization header only; credentials in a URL are rejected. Scopes: `{collection}:{read|create|update|delete}`, where `*` stands for every collection or every verb; `action:{name}`, where `*` stands for every action; `admin` may do everything, including creating tokens and collections.",
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
const inHeader = (name: string, description: string, shape: object = text) => ({
  name,
  in: "header",
  description,
  schema: shape,
});

export const parameters = {
  collection: inPath("collection", { type: "string", pattern: collectionName.source }),
  id: inPath("id", { type: "string", pattern: resourceId.source }),
  part: inPath("part", { type: "string", pattern: filePathPattern.source }),
  tokenId: inPath("id", { type: "string", format: "uuid" }),
  name: inPath("name", { type: "string", pattern: collectionName.source }),
  action: inPath("name", { type: "string", pattern: actionName.source }),
  kind: inPath("kind", { type: "string", enum: Object.keys(problemKinds) }),
  page: inQuery("page", "Counted from 1.", { type: "integer", minimum: 1, default: 1 }),
  limit: inQuery("limit", "Resources per page; a value out of range is rejected, never clamped.", {
    type: "integer",
    minimum: 1,
    maximum: pageLimits.maxLimit,
    default: pageLimits.defaultLimit,
  }),
  sort: inQuery(
    "sort",
    "Field names separated by commas, each with `-` before it for descending order. `-createdAt`: newest first.",
    { type: "string", default: "createdAt" },
  ),
  q: inQuery(
    "q",
    "Words to search for in the searchable fields; all must match, and `eng*` matches a prefix. Without `sort`, the best matches come first.",
    text,
  ),
  cursor: inQuery(
    "cursor",
    "Reads the whole list page by page, stable under writes: empty to begin, then the `next` of the previous response. Cannot be combined with `page`.",
    text,
  ),
  total: inQuery("total", "`none` leaves the total out, which may be faster with filters.", {
    type: "string",
    enum: ["exact", "none"],
    default: "exact",
  }),
  fields: inQuery(
    "fields",
    "Shows only these fields, separated by commas, and the `id`. `*` means all, and `_etag` adds the resource's ETag for If-Match: `fields=*,_etag`.",
    text,
  ),
  filters: {
    ...inQuery(
      "filters",
      `Every other parameter is a filter: \`field=value\`, \`field[operator]=value\`, with dots for nested fields. Operators: ${operators.join(", ")}.`,
      { type: "object", additionalProperties: text },
    ),
    style: "form",
    explode: true,
  },
  since: inQuery(
    "since",
    "Returns the changes after this position, in order, instead of a page: 0 to begin, then the `next` of the previous response. Can be combined with `limit` and `fields` only.",
    { type: "string" },
  ),
  atomic: inQuery(
    "atomic",
    "Only with NDJSON. `true`: all lines are created, or none. Needed with an Idempotency-Key.",
    { type: "boolean", default: false },
  ),
  dryRun: inQuery("dry-run", "`true`: only reports what would happen.", {
    type: "boolean",
    default: false,
  }),
  confirm: inQuery("confirm", "The name of the collection, to delete it with its resources.", {
    type: "string",
    pattern: collectionName.source,
  }),
  ifNoneMatch: inHeader("If-None-Match", "The ETag that the client has: 304 if it is current."),
  ifModifiedSince: inHeader("If-Modified-Since", "Like If-None-Match, by time and less exact."),
  ifMatch: inHeader(
    "If-Match",
    "The ETag of the state to change: 412 if the state has changed. `*`: any existing state.",
  ),
  ifNoneMatchToWrite: inHeader("If-None-Match", "`*`: 412 if the resource exists."),
  ifUnmodifiedSince: inHeader(
    "If-Unmodified-Since",
    "Like If-Match, by time and to the second only; ignored with If-Match.",
  ),
  range: inHeader("Range", "`bytes=0-499`, `bytes=500-` or `bytes=-500` (RFC 9110 §14.2)."),
  ifRange: inHeader(
    "If-Range",
    "The ETag of the part that the client has: the whole file is sent if it differs.",
  ),
  idempotencyKey: inHeader(
    "Idempotency-Key",
    "Makes a retry safe: a request with the same key and content, by the same token and within 7 days, is not repeated but gets the stored response. 1 to 255 ASCII characters as a quoted string; unquoted ones are accepted too.",
    { type: "string", examples: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"'] },
  ),
  prefer: inHeader(
    "Prefer",
    "`return=minimal` leaves the response body out (RFC 7240); `return=representation` is the default. Unknown preferences are ignored.",
    { type: "string", examples: ["return=minimal"] },
  ),
} satisfies Schemas;

/** A header that every response that lists it has. */
const always = (description: string, shape: object = text) => ({
  description,
  required: true,
  schema: shape,
});
/** A header that only some responses have. */
const sometimes = (description: string, shape: object = text) => ({ description, schema: shape });

const address = { type: "string", format: "uri-reference" };
const count = { type: "integer", minimum: 0 };

const headers: Schemas = {
  XRequestId: always("Identifies this request in the log."),
  CacheControl: always("Who may cache the response, and for how long."),
  ETag: always("Strong; changes with every change."),
  LastModified: always("An HTTP date."),
  Location: always("The URL of the created resource.", address),
  NextPage: always("A page that shows nothing of what was sent.", address),
  Elsewhere: always("The URL to continue with.", address),
  ContentLocation: sometimes(
    "The URL of the representation in the body, if there is one.",
    address,
  ),
  Link: sometimes(
    "Related pages (RFC 8288). Of a page: `first`, `prev`, `next` and `last`; of changes: `next`, when there are more.",
  ),
  XTotalCount: sometimes("Of a page: as `total` in the body.", count),
  WWWAuthenticate: sometimes("The challenge of RFC 6750."),
  Accept: sometimes("The media types that PUT accepts here."),
  AcceptEncoding: sometimes("The content codings that a request body may have."),
  AcceptPost: sometimes("The media types that POST accepts here."),
  AcceptPatch: sometimes("The media types that PATCH accepts here."),
  RetryAfter: always("In seconds.", count),
  RateLimit: sometimes(
    "Where requests are limited: how many are left (`r`), and in how many seconds all are again (`t`).",
  ),
  RateLimitPolicy: sometimes(
    "Where requests are limited: how many (`q`) in how many seconds (`w`).",
  ),
  AcceptRanges: always("`bytes`."),
  ContentRange: always("Which part it is, and of how many bytes."),
  ContentRangeOfAll: always("`bytes */` and the number of bytes of the file."),
  ContentDisposition: always(
    "The name of the file, and whether it is to be saved or may be shown.",
  ),
  PreferenceApplied: sometimes("The preference that was heeded (RFC 7240)."),
  IdempotencyReplayed: sometimes(
    "`true` when nothing was done, because this is the answer to the same request before.",
  ),
};

/** The fields that go with a status beyond those of every answer. */
const fieldsOfStatus: Readonly<Record<number, Schemas>> = {
  401: { "WWW-Authenticate": header("WWWAuthenticate") },
  403: { "WWW-Authenticate": header("WWWAuthenticate") },
  415: {
    Accept: header("Accept"),
    "Accept-Post": header("AcceptPost"),
    "Accept-Patch": header("AcceptPatch"),
    "Accept-Encoding": header("AcceptEncoding"),
  },
  416: { "Content-Range": header("ContentRangeOfAll") },
  429: {
    "Retry-After": header("RetryAfter"),
    RateLimit: header("RateLimit"),
    "RateLimit-Policy": header("RateLimitPolicy"),
  },
  503: { "Retry-After": header("RetryAfter") },
};

/** Those of the parser and of addresses without the method are told of in the document's description. */
const withoutOperation: ReadonlySet<ProblemKind> = new Set([
  "method-not-allowed",
  "timeout",
  "expectation-failed",
  "header-too-large",
  "not-implemented",
  "version-not-supported",
]);

function problemResponses(base: string): Schemas {
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
