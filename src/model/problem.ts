// All kinds of problems (RFC 9457) that the API returns. A problem is a value; a bug is thrown.

import type { FieldError } from "../lib/json/error-report.ts";

export type { FieldError };

/** One error in the query string. */
export interface ParameterError {
  readonly parameter: string;
  readonly detail: string;
}

/** Every kind: its constant title (RFC 9457 §3.1.3) and the text of its page. */
export const problemKinds = {
  "malformed-request": {
    title: "The request is malformed",
    about:
      "The request line, the Host field, the target or a header field violates HTTP, or a field that may appear once was sent twice. The detail names it. Fix the client; sending the same request again will not help.",
  },
  unauthenticated: {
    title: "A valid bearer token is required",
    about:
      "Send `Authorization: Bearer <token>`. The token is missing, unknown, expired or revoked. Credentials in the URL are never accepted, because URLs are logged, cached and visible.",
  },
  "credential-in-url": {
    title: "A credential was sent in the URL",
    about:
      "A query parameter looks like a credential, or the path holds a token. Move it to the Authorization header, and treat the value as leaked: URLs end up in logs and histories. A filter by a field with such a name, for example `secret`, belongs in the body of a QUERY.",
  },
  "insufficient-scope": {
    title: "The token does not have the required scope",
    about:
      "The token is valid, but its scopes do not cover this verb on this collection, or this action. The WWW-Authenticate field names the required scope.",
  },
  forbidden: {
    title: "The rules do not allow this",
    about:
      "The collection has rules, and none of them allows this caller to do this with this resource, with these fields, or with these values. Where single fields are the reason, `errors` lists them. Another token does not help unless the rules are for its subject, role or scope. Nothing was stored.",
  },
  "invalid-signature": {
    title: "The signature of the URL is not valid",
    about:
      "A signed URL reads one file for a short time. This one was changed, has expired, or the file was replaced; or the token that signed it was revoked, or may no longer read the file; or the definition of the collection no longer says `signedUrls`. Ask for a new URL with POST /-/signed-urls.",
  },
  "unprocessable-picture": {
    title: "The picture cannot be rendered",
    about:
      "The file has the type of a picture, but it is damaged, it is something else, or it exceeds a limit: 64 MiB, 50 megapixels, or the time and memory that one picture may take. The detail says which. The file itself can be downloaded as it is, without parameters.",
  },
  "tls-required": {
    title: "This server requires TLS",
    about:
      "The request was not encrypted. The server does not redirect, because a redirect would hide that the token was sent in clear text. Treat the token as leaked and use https.",
  },
  "not-found": {
    title: "There is nothing at this address",
    about:
      "The collection, resource or page does not exist, or the token may not see it. A POST with an admin token creates a collection.",
  },
  "method-not-allowed": {
    title: "The method is not allowed here",
    about: "The Allow field lists the methods of this address.",
  },
  "not-implemented": {
    title: "Not implemented",
    about:
      "The server does not support the method at any address (RFC 9110 §9.1), does not support the transfer coding (only `chunked` is, RFC 9112 §6.1), or cannot render pictures, because the package `sharp` is missing or does not fit the machine.",
  },
  "not-acceptable": {
    title: "No acceptable representation",
    about:
      "The Accept field excludes every media type that this address can answer with; the detail lists them. Leave Accept out, or include `application/json`.",
  },
  "mismatching-upload-offset": {
    title: "The upload has another offset",
    about:
      "Upload-Offset is not the number of bytes that the upload has. The Upload-Offset field of the response and `expected-offset` name the right one: continue from there.",
  },
  "inconsistent-upload-length": {
    title: "The lengths of the upload differ",
    about:
      "Upload-Length, Content-Length and what was sent before contradict each other; the detail names both lengths.",
  },
  "completed-upload": {
    title: "The upload is complete",
    about:
      "The upload has been completed, and nothing can be appended to it. Its response has been sent; HEAD of the upload has the URL of its result.",
  },
  "range-not-satisfiable": {
    title: "The file has no such range",
    about:
      "The range starts after the end of the file. The Content-Range field says how many bytes the file has.",
  },
  "expectation-failed": {
    title: "The expectation cannot be met",
    about: "The server supports only `Expect: 100-continue` (RFC 9110 §10.1.1).",
  },
  "unsupported-media-type": {
    title: "The media type is not supported",
    about:
      "Content-Type is missing or names a format that this address does not accept. The Accept-Post, Accept-Patch or Accept-Query field lists the accepted formats. JSON is always UTF-8. Or Content-Encoding names more than one coding or an unknown one; then Accept-Encoding lists the supported codings.",
  },
  "content-too-large": {
    title: "The body is too large",
    about: "The body exceeds a limit; the detail says which. Nothing was stored.",
  },
  "uri-too-long": {
    title: "The URL is too long",
    about: "The request target is longer than 8,192 bytes.",
  },
  "header-too-large": {
    title: "The header section is too large",
    about:
      "The header fields together exceed the limit, there are too many of them, or one of them is too long; the detail says which.",
  },
  "invalid-parameter": {
    title: "A parameter is not valid",
    about:
      "A parameter is unknown, repeated or out of range. `errors` names each one. The server does not correct or ignore parameters, because that would silently change the contents of a page.",
  },
  "invalid-body": {
    title: "The body is not valid",
    about:
      "The body does not match its Content-Type or violates a rule. `errors` lists all errors at once, each with a JSON Pointer to its location.",
  },
  "query-timeout": {
    title: "The query took too long",
    about:
      "The query was stopped at the deadline for queries, which includes its wait for other queries. Add the fields that the detail names to `indexed` in the definition of the collection, ask for less, or leave out the total with `total=none`. The operator can raise the deadline with --query-deadline.",
  },
  timeout: {
    title: "The request took too long to arrive",
    about: "The client did not finish sending the request in time. Nothing was stored.",
  },
  gone: {
    title: "This is no longer valid",
    about:
      "Something in the request was valid once and is no longer valid. A position of `since` is gone when it is older than the removals that the server stores, or when the collection was deleted and created again, or the server was restored from a backup, or when the rules, or the caller's sets, roles or scopes have changed: make a new copy from `since=0`. An Idempotency-Key is gone when a resource that its request wrote has been deleted: nothing was repeated; use a new key to create the resource again.",
  },
  conflict: {
    title: "The request conflicts with the current state",
    about: "The detail describes the conflict.",
  },
  "precondition-failed": {
    title: "The resource is not in the state you named",
    about:
      "If-Match, If-None-Match or If-Unmodified-Since does not match: someone else changed the resource first, or it already exists. Nothing was changed. GET the resource again, then decide.",
  },
  "precondition-required": {
    title: "This collection requires conditional requests",
    about:
      "Its definition requires preconditions, so that no change overwrites another by accident. GET the resource and send its ETag as If-Match; to create, send `If-None-Match: *`.",
  },
  "key-required": {
    title: "This collection requires an Idempotency-Key",
    about:
      'Its definition requires keys, so that every POST can be retried. Send `Idempotency-Key: "<a new UUID>"`, and reuse a key only to retry the same request.',
  },
  "key-reused": {
    title: "The Idempotency-Key belongs to another request",
    about:
      "The same key was used before on this collection with another method, target or body. Nothing was done. Use a new key for each new request, and reuse a key only to retry.",
  },
  "too-many-requests": {
    title: "Too many requests",
    about:
      "One address or token has sent more requests per minute than the server allows, one address has created more resources without a token than the collection allows, or one address has sent many invalid tokens. The detail says which. Nothing was stored. Wait for Retry-After and send the request again.",
  },
  misdirected: {
    title: "The request is for another host",
    about:
      "The server does not serve the host in the Host field (RFC 9110 §7.4). Use the public address of the server. The operator can allow more hosts with `--allowed-hosts`. A proxy must forward the Host field.",
  },
  "too-early": {
    title: "The request may be a replay",
    about:
      "A proxy has sent the request with Early-Data (RFC 8470): it arrived before the handshake of TLS was complete, so that someone else may have sent it again. Nothing was done. A request that changes something is accepted after the handshake; clients send it again by themselves.",
  },
  "version-not-supported": {
    title: "The HTTP version is not supported",
    about: "The server supports HTTP/1.1 and HTTP/1.0. Use a proxy for HTTP/2 and HTTP/3.",
  },
  "internal-error": {
    title: "Internal server error",
    about:
      "This is a bug in the server. Nothing was acknowledged. Report the request id to the operator; the log entry with that id has the cause.",
  },
  damaged: {
    title: "Stored data is damaged",
    about:
      "The storage did not return what was written: the checksum of a resource does not match, or the bytes of a file are missing. The detail names the resource; all others are available. The operator must restore it from a backup.",
  },
  unavailable: {
    title: "The server cannot do this right now",
    about:
      "The store is unreachable, overloaded or shutting down. Nothing was acknowledged; wait for Retry-After and send the request again.",
  },
  "action-timeout": {
    title: "The action did not answer in time",
    about:
      "The action was aborted and can make no further changes. Changes that it made before stay. Check the resources before you send the request again.",
  },
  "storage-full": {
    title: "The storage is full",
    about:
      "The disk has no space for this write, it would exceed a quota of files, or unfinished uploads use all the bytes that they may have; the detail says which. Nothing was stored. Reads and deletions still work, and writes resume when there is space again.",
  },
} as const satisfies Record<string, { title: string; about: string }>;

export type ProblemKind = keyof typeof problemKinds;

/** An expected error: its kind, a message for the client, and the errors to fix. */
export class Problem {
  readonly kind: ProblemKind;
  readonly detail: string;
  readonly errors: readonly (FieldError | ParameterError)[] | undefined;
  /** The missing scope. */
  readonly scope: string | undefined;
  /** The expected and the provided offset of an upload. */
  readonly offsets: readonly [expected: number, provided: number] | undefined;

  constructor(
    kind: ProblemKind,
    detail: string,
    more: {
      errors?: readonly (FieldError | ParameterError)[];
      scope?: string;
      offsets?: readonly [expected: number, provided: number];
    } = {},
  ) {
    this.kind = kind;
    this.detail = detail;
    this.errors = more.errors;
    this.scope = more.scope;
    this.offsets = more.offsets;
  }
}
