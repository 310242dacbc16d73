// Describes the header fields of responses in the OpenAPI document.

const text = { type: "string" };
const address = { type: "string", format: "uri-reference" };
const count = { type: "integer", minimum: 0 };

/** A header that every response that lists it has. */
const always = (description: string, schema: object = text) => ({
  description,
  required: true,
  schema,
});
/** A header that only some responses have. */
const sometimes = (description: string, schema: object = text) => ({ description, schema });

export const headers = {
  requestId: always("Identifies this request in the log."),
  cacheControl: always("Who may cache the response, and for how long."),
  etag: always("Strong; changes with every change."),
  unchangedEtag: sometimes("As of a GET, if the bytes are stored as they were sent."),
  writtenEtag: sometimes("As of a GET, unless rules hide the resource from the caller."),
  lastModified: sometimes("An HTTP date; missing where the caller sees a part."),
  location: always("The URL of the created resource.", address),
  consoleLocation: always("The URL of the console.", address),
  formLocation: always("A page that shows nothing of what was sent.", address),
  fileLocation: always("Reads the file for a minute, without a token.", address),
  resultLocation: always("The URL to continue with.", address),
  contentLocation: sometimes(
    "The URL of the representation in the body, if there is one.",
    address,
  ),
  link: sometimes(
    "Related pages (RFC 8288). Of a page: `first`, `prev`, `next` and `last`; of changes: `next`, when there are more.",
  ),
  totalCount: sometimes("Of a page: as `total` in the body.", count),
  serverTiming: sometimes(
    "When many resources were checked one by one, because an index is missing: how many, and the milliseconds.",
  ),
  wwwAuthenticate: sometimes("The challenge of RFC 6750."),
  accept: sometimes("The media types that PUT accepts here."),
  acceptEncoding: sometimes("The content codings that a request body may have."),
  acceptPost: sometimes("The media types that POST accepts here."),
  acceptPatch: sometimes("The media types that PATCH accepts here."),
  retryAfter: always("In seconds.", count),
  rateLimit: sometimes(
    "Where requests are limited: how many are left (`r`), and in how many seconds all are again (`t`).",
  ),
  rateLimitPolicy: sometimes(
    "Where requests are limited: how many (`q`) in how many seconds (`w`).",
  ),
  acceptRanges: always("`bytes`."),
  contentDigest: sometimes(
    "The SHA-256 of the content (RFC 9530), unless `sha-256=0` declines it.",
  ),
  reprDigest: sometimes(
    "The SHA-256 of the whole file (RFC 9530), unless `sha-256=0` declines it.",
  ),
  contentRange: sometimes(
    "Which part it is, and of how many bytes; of several ranges, each part has its own.",
  ),
  fileSize: always("`bytes */` and the number of bytes of the file."),
  contentDisposition: always(
    "The name of the file, and whether it is to be saved or may be shown.",
  ),
  preferenceApplied: sometimes("The preference that was applied (RFC 7240)."),
  idempotencyReplayed: sometimes(
    "`true` when nothing was done, because this is the response to the same request before.",
  ),
  uploadOffset: always("How many bytes of the upload have arrived.", count),
  uploadComplete: always("`?1` when the upload is complete, otherwise `?0`."),
  uploadLength: sometimes("How many bytes the upload will have, if the client has said so.", count),
  uploadLimit: sometimes(
    "`max-size` in bytes, and `max-age`: in how many seconds the upload expires.",
  ),
  uploadResult: sometimes("The URL of the result of a complete upload.", address),
} satisfies Readonly<Record<string, object>>;

/** The fields that every response has. */
export const commonHeaders = {
  "X-Request-Id": headers.requestId,
  "Cache-Control": headers.cacheControl,
};

/** The validators of a GET. */
export const validators = { ETag: headers.etag, "Last-Modified": headers.lastModified };

/** The validators of what was written. */
export const writtenValidators = { ...validators, ETag: headers.writtenEtag };
