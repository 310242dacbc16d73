// Describes the parameters of the query string and of the header in the OpenAPI document.

import { jsonLimits } from "../../lib/json/scan.ts";
import { pictureFits, pictureFormats } from "../../model/picture.ts";
import { listRequestLimits, pageLimits } from "../../model/query/list-request.ts";
import { maxSubjects } from "../../model/schemas/collection.ts";
import { entityTagSchema, entityTagsSchema } from "../../model/schemas/entity-tags.ts";
import { collectionNameSchema } from "../../model/schemas/resource.ts";
import { subjectPattern } from "../../model/token.ts";

const text = { type: "string" };
const matching = (pattern: string) => ({ type: "string", pattern });

/** A name that ends with `[]` is for filters only. */
const nameEnd = "[^,.]*[^,.\\]]";
const fieldPath = `[^,.+\\s-](?:${nameEnd})?(?:\\.${nameEnd}){0,${jsonLimits.maxDepth - 1}}`;
const day = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const month = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const httpDate = matching(
  `^${day}, [0-3][0-9] ${month} [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-5][0-9] GMT$`,
);

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

const bytes = { type: "integer", format: "int64", minimum: 0 };
const bit = { type: "string", enum: ["?0", "?1"] };

export const parameters = {
  page: inQuery("page", "Counted from 1, which is the default.", {
    type: "integer",
    format: "int64",
    minimum: 1,
    maximum: 999_999_999_999_999,
  }),
  limit: inQuery(
    "limit",
    `Resources per page, ${pageLimits.defaultLimit} by default; a value out of range is rejected, never clamped.`,
    {
      type: "integer",
      format: "int64",
      minimum: 1,
      maximum: pageLimits.maxLimit,
    },
  ),
  tokenLimit: inQuery("limit", `Tokens per page, ${pageLimits.maxLimit} by default.`, {
    type: "integer",
    format: "int64",
    minimum: 1,
    maximum: pageLimits.maxLimit,
  }),
  tokenSubject: inQuery("subject", "Only the tokens of this subject.", {
    type: "string",
    pattern: subjectPattern.source,
  }),
  sort: inQuery(
    "sort",
    "Field names separated by commas, each with `-` before it for descending order. `-createdAt`: newest first.",
    matching(`^-?${fieldPath}(?:,-?${fieldPath}){0,${listRequestLimits.maxSortings - 1}}$`),
  ),
  q: inQuery(
    "q",
    "Words to search for in the searchable fields; all must match, and `eng*` matches a prefix. Without `sort`, the best matches come first.",
    matching("[A-Za-z0-9\\u0080-\\uffff]"),
  ),
  cursor: inQuery(
    "cursor",
    "Reads the whole list page by page, stable under writes: empty to begin, then the `next` of the previous response. Cannot be combined with `page`.",
    matching("^[A-Za-z0-9_-]*$"),
  ),
  total: inQuery("total", "`none` leaves the total out, which may be faster with filters.", {
    type: "string",
    enum: ["exact", "none"],
  }),
  where: inQuery(
    "where",
    'Conditions as JSON, as `where` in the body of a QUERY: `{"$or":[{"age":{"gte":18}},{"city":"Bern"}]}`. Other filters must hold as well.',
    { type: "string", minLength: 2, contentMediaType: "application/json" },
  ),
  fields: inQuery(
    "fields",
    "Shows only these fields, separated by commas, and the `id`. `*` means all, and `_etag` adds the resource's ETag for If-Match: `fields=*,_etag`. With an admin token `_owner` adds its owner.",
    matching(`^${fieldPath}(?:,${fieldPath}){0,${listRequestLimits.maxFields - 1}}$`),
  ),
  expand: inQuery(
    "expand",
    `The paths of references, separated by commas: adds the resources that they name as \`_expanded\`. \`customer.company\` follows the reference \`company\` of the customer, up to ${listRequestLimits.maxExpandDepth} references deep. The ETag covers all of it.`,
    matching(`^[^,]+(?:,[^,]+){0,${listRequestLimits.maxExpanded - 1}}$`),
  ),
  aggregate: inQuery(
    "aggregate",
    "Returns figures instead of resources, separated by commas: `count`, `sum(field)`, `avg(field)`, `min(field)`, `max(field)`, `distinct(field)`.",
    { type: "string" },
  ),
  by: inQuery(
    "by",
    "With `aggregate`: groups by these, separated by commas: a field, `month(field)` (also hour, day, week, quarter, year), `range(field,0,10,100)`.",
    { type: "string" },
  ),
  timezone: inQuery(
    "timezone",
    "With `by`: the time zone of hours, days and so on, such as `Europe/Berlin`; UTC by default.",
    { type: "string" },
  ),
  since: inQuery(
    "since",
    "Returns the changes after this position, in order, instead of a page: 0 to begin, then the `next` of the previous response. Can be combined with `limit`, `fields` and filters only.",
    matching(
      "^(?:0|x\\.[A-Za-z0-9_-]{40,200}|[0-9a-z]{1,11}\\.[0-9a-z]{1,11}-[0-9a-z]{1,11}-[0-9a-z]{1,11}(?:-[0-9a-z]{1,11})?(?:\\.[0-9a-z]{1,11})?)$",
    ),
  ),
  signature: inQuery(
    "signature",
    "Of a signed URL (`POST /-/signed-urls`), which is used as it was given and without a token.",
    matching("^[A-Za-z0-9.-]+$"),
  ),
  version: inQuery(
    "version",
    "The version of OpenAPI. 3.2 also describes the method QUERY (RFC 10008).",
    { type: "string", enum: ["3.1", "3.2"] },
  ),
  atomic: inQuery(
    "atomic",
    "For NDJSON and CSV. `true`: all lines are written, or none. Needed with an Idempotency-Key. One resource is always created completely or not at all.",
    { type: "boolean" },
  ),
  dryRun: inQuery("dry-run", "`true`: only reports what would happen.", {
    type: "boolean",
  }),
  subjects: inQuery(
    "subjects",
    `With \`dry-run=true\`: up to ${maxSubjects} subjects, separated by commas. Reports how many resources each sees, before and after.`,
  ),
  tryOut: inQuery(
    "dry-run",
    "For NDJSON and CSV. `true`: reports the result that each line would have, and writes nothing.",
    { type: "boolean" },
  ),
  key: inQuery(
    "key",
    "For NDJSON and CSV. `id`, or a field that is unique on its own: each line replaces the resource with that value, or creates one.",
  ),
  types: inQuery(
    "types",
    "For CSV. `infer`: a value that the schema does not declare is a number, a boolean, null, a time, an array or an object when it looks like one; otherwise it is text.",
    { type: "string", enum: ["text", "infer"] },
  ),
  separator: inQuery(
    "separator",
    "For CSV. Without it, the most frequent one in the header row is taken.",
    { type: "string", enum: ["comma", "semicolon", "tab"] },
  ),
  confirm: inQuery(
    "confirm",
    "The name of the collection, to delete it with its resources.",
    collectionNameSchema,
  ),
  ifNoneMatch: inHeader(
    "If-None-Match",
    "The ETag that the client has: 304 if it is current.",
    entityTagsSchema,
  ),
  ifModifiedSince: inHeader(
    "If-Modified-Since",
    "Like If-None-Match, by time and less exact.",
    httpDate,
  ),
  ifMatch: inHeader(
    "If-Match",
    "The ETag of the state to change: 412 if the state has changed. `*`: any existing state.",
    entityTagsSchema,
  ),
  ifMatchCollection: inHeader(
    "If-Match",
    "The ETag of the list: 412 if the collection has changed.",
    entityTagsSchema,
  ),
  ifNoneMatchToWrite: inHeader(
    "If-None-Match",
    "`*`: 412 if the resource exists.",
    matching("^\\*$"),
  ),
  ifUnmodifiedSince: inHeader(
    "If-Unmodified-Since",
    "Like If-Match, by time and to the second only; ignored with If-Match.",
    httpDate,
  ),
  width: inQuery(
    "width",
    "Of a picture, in pixels: with `height` one of the sizes that the definition declares in `pictures`.",
    { type: "integer", minimum: 1 },
  ),
  height: inQuery("height", "Of a picture, in pixels.", { type: "integer", minimum: 1 }),
  fit: inQuery(
    "fit",
    "How a picture fits into width and height: `cover` (the default) cuts off what is outside, `contain` adds a border, `inside` keeps its shape and is not enlarged, `fill` stretches it.",
    { type: "string", enum: pictureFits },
  ),
  format: inQuery("format", "Of a picture; without it that of the original, and PNG for GIF.", {
    type: "string",
    enum: pictureFormats,
  }),
  description: inQuery(
    "description",
    "`true`: JSON instead of the picture, with `width`, `height` and a `preview`, a `data:` URL of a few hundred bytes.",
    { type: "boolean", enum: [true] },
  ),
  download: inQuery(
    "download",
    "Makes browsers save the file, under this name; empty: under its own.",
    { type: "string" },
  ),
  redirect: inQuery(
    "redirect",
    "`true`: 307 to a presigned URL of S3, where the definition says `presignedRedirects`, and files are on S3; otherwise the bytes.",
    { type: "string", enum: ["true", "false"] },
  ),
  range: inHeader(
    "Range",
    "`bytes=0-499`, `bytes=500-` or `bytes=-500` (RFC 9110 §14.2), or up to 10 of them: `bytes=0-99,-100`.",
    matching("^bytes=(?:[0-9]+-[0-9]*|-[0-9]+)(?:, ?(?:[0-9]+-[0-9]*|-[0-9]+)){0,9}$"),
  ),
  ifRange: inHeader(
    "If-Range",
    "The ETag of the part that the client has: the whole file is sent if it differs.",
    entityTagSchema,
  ),
  idempotencyKey: inHeader(
    "Idempotency-Key",
    "Makes a retry safe: a request with the same key and content, by the same token and while the server stores the key (24 hours by default), is not repeated but gets the stored response. 1 to 255 ASCII characters as a quoted string; unquoted ones are accepted too.",
    {
      ...matching('^(?:"[ !#-[\\]-~]{1,255}"|[!#-+.-[\\]-~-]{1,255})$'),
      examples: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
    },
  ),
  prefer: inHeader(
    "Prefer",
    "`return=minimal` leaves the response body out (RFC 7240); `return=representation` is the default. Unknown preferences are ignored.",
    { type: "string", examples: ["return=minimal"] },
  ),
  preferResource: inHeader(
    "Prefer",
    "`return=representation` responds with the resource (RFC 7240). Unknown preferences are ignored.",
    { type: "string", examples: ["return=representation"] },
  ),
  uploadOffset: {
    ...inHeader("Upload-Offset", "How many bytes of the upload have arrived.", bytes),
    required: true,
  },
  uploadComplete: {
    ...inHeader("Upload-Complete", "`?1` in the last request, otherwise `?0`.", bit),
    required: true,
  },
  uploadLength: inHeader("Upload-Length", "How many bytes the upload has in all.", bytes),
  beginUpload: inHeader(
    "Upload-Complete",
    "Begins a resumable upload of a file or of a form with files: `?0` when more requests follow, `?1` when this one has all of it.",
    bit,
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
