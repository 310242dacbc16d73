// Describes the parameters of the query string and of the header in the OpenAPI document.

import { operators, pageLimits } from "../../model/query/list-request.ts";
import { collectionNameSchema } from "../../model/schemas/resource.ts";

const text = { type: "string" };

const inQuery = (name: string, description: string, schema: object = text) => ({
  name,
  in: "query",
  description,
  schema,
});
const inHeader = (name: string, description: string, schema: object = text) => ({
  name,
  in: "header",
  description,
  schema,
});

export const parameters = {
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
  ),
  cursor: inQuery(
    "cursor",
    "Reads the whole list page by page, stable under writes: empty to begin, then the `next` of the previous response. Cannot be combined with `page`.",
  ),
  total: inQuery("total", "`none` leaves the total out, which may be faster with filters.", {
    type: "string",
    enum: ["exact", "none"],
    default: "exact",
  }),
  fields: inQuery(
    "fields",
    "Shows only these fields, separated by commas, and the `id`. `*` means all, and `_etag` adds the resource's ETag for If-Match: `fields=*,_etag`. With an admin token `_owner` adds its owner.",
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
  confirm: inQuery(
    "confirm",
    "The name of the collection, to delete it with its resources.",
    collectionNameSchema,
  ),
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
} satisfies Readonly<Record<string, object>>;

/** The parameters of a conditional GET. */
export const conditions = [parameters.ifNoneMatch, parameters.ifModifiedSince];

/** The parameters of a conditional change. */
export const preconditions = [
  parameters.ifMatch,
  parameters.ifUnmodifiedSince,
  parameters.ifNoneMatchToWrite,
];
