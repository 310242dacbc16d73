// The closed set of expected refusals. A problem is a value that is returned; a bug is thrown.

import type { FieldError } from "../lib/json/error-report.ts";

export type { FieldError };

/** One fault in the query string. */
export interface ParameterError {
  readonly parameter: string;
  readonly detail: string;
}

/** Every kind of refusal: its constant title (RFC 9457 §3.1.3) and what its page explains. */
export const problemKinds = {
  "malformed-request": {
    title: "The request is malformed",
    about:
      "The request line, the Host field, the target or a header field breaks the rules of HTTP, or a field that may appear once was sent twice. The detail names it. Repair the client; sending the same request again will not help.",
  },
  unauthenticated: {
    title: "A valid bearer token is required",
    about:
      "Send `Authorization: Bearer <token>`. The token is missing, unknown, expired or revoked. Credentials in the URL are never accepted, because URLs are logged, cached and visible.",
  },
  "credential-in-url": {
    title: "A credential was sent in the URL",
    about:
      "A query parameter looks like a credential, or the path holds a token. Move it to the Authorization header, and treat the value as leaked: URLs end up in logs and histories.",
  },
  "insufficient-scope": {
    title: "The token lacks the scope for this",
    about:
      "The token is valid, but its scopes do not cover this verb on this collection, or this action. The WWW-Authenticate field names the scope that is needed.",
  },
  "tls-required": {
    title: "This server is reached over TLS only",
    about:
      "The request came in clear text. There is no redirect, because that would hide that the token has already travelled in the open: treat it as leaked and use https.",
  },
  "not-found": {
    title: "There is nothing at this address",
    about:
      "No such collection, resource or page; or the token may not see it. A POST by an admin token brings a collection into being.",
  },
  "method-not-allowed": {
    title: "The method is not allowed here",
    about: "The Allow field lists the methods that this address answers.",
  },
  "not-implemented": {
    title: "Not implemented",
    about:
      "This server does not know the method at any address (RFC 9110 §9.1), or the transfer coding: `chunked` is the only one understood (RFC 9112 §6.1).",
  },
  "not-acceptable": {
    title: "No acceptable representation",
    about:
      "The Accept field excludes every media type that this address can answer with; the detail lists them. Leave Accept out, or include `application/json`.",
  },
  "range-not-satisfiable": {
    title: "The file has no such range",
    about:
      "The range starts after the end of the file. The Content-Range field says how many bytes the file has.",
  },
  "expectation-failed": {
    title: "The expectation cannot be met",
    about: "The only expectation understood is `Expect: 100-continue` (RFC 9110 §10.1.1).",
  },
  "unsupported-media-type": {
    title: "The media type is not supported",
    about:
      "Content-Type is missing or names a format that this address does not take. The Accept-Post, Accept-Patch or Accept-Query field lists what it takes. JSON is always UTF-8. Or Content-Encoding names more than one coding, or one that is not known; then Accept-Encoding lists those that are.",
  },
  "content-too-large": {
    title: "The body is too large",
    about: "The body is over the limit; the detail says which. Nothing was stored.",
  },
  "uri-too-long": {
    title: "The URL is too long",
    about: "The request target is over 8,192 bytes.",
  },
  "header-too-large": {
    title: "The header section is too large",
    about:
      "The header fields together are over the limit, or there are too many of them, or one of them is longer than it may be; the detail says which.",
  },
  "invalid-parameter": {
    title: "A parameter is not valid",
    about:
      "A parameter is unknown, repeated or out of range. `errors` names each one. Nothing is clamped or guessed, because that would silently change which items a page holds.",
  },
  "invalid-body": {
    title: "The body is not valid",
    about:
      "The body cannot be read as what it claims to be, or breaks a rule. `errors` lists every fault at once, each with a JSON Pointer to its place.",
  },
  timeout: {
    title: "The request took too long to arrive",
    about: "The client did not finish sending the request in time. Nothing was stored.",
  },
  gone: {
    title: "This is no longer valid",
    about:
      "What the request names was valid once and is not any more. A position of `since` is gone when the collection was deleted and created again, or the server was set back to a backup: make a new copy, from `since=0`. An Idempotency-Key is gone when a resource that its request wrote was deleted since: nothing was done again; take a new key to create it anew.",
  },
  conflict: {
    title: "The request contradicts the current state",
    about: "The detail says what is in the way.",
  },
  "precondition-failed": {
    title: "The resource is not in the state you named",
    about:
      "If-Match, If-None-Match or If-Unmodified-Since does not hold: somebody else was faster, or the resource is already there. Nothing was changed. GET it again, and decide anew.",
  },
  "precondition-required": {
    title: "This collection takes conditional changes only",
    about:
      "Its definition requires preconditions, so that no change overwrites another unseen. GET the resource and send its ETag as If-Match; to create, send `If-None-Match: *`.",
  },
  "key-required": {
    title: "This collection takes POST with an Idempotency-Key only",
    about:
      'Its definition requires keys, so that every POST can be retried. Send `Idempotency-Key: "<a new UUID>"`, and the same key again only to retry.',
  },
  "key-reused": {
    title: "The Idempotency-Key belongs to another request",
    about:
      "The same key came before with another method, target or body. Nothing was done. Take a new key for each new request; repeat one only to retry.",
  },
  "too-many-requests": {
    title: "Too many requests",
    about:
      "One address or one token has sent more requests than the server allows in a minute, one address has created more without a token than the collection allows, or one address has sent many tokens that are not valid. The detail says which. Nothing was stored. Wait for Retry-After and send the request again.",
  },
  misdirected: {
    title: "The request is for another host",
    about:
      "This server does not answer for the host that the Host field names (RFC 9110 §7.4). Use the public address of the server. The operator allows further hosts with `--allowed-hosts`; behind a proxy, let it pass the Host on.",
  },
  "version-not-supported": {
    title: "The HTTP version is not supported",
    about: "HTTP/1.1 and HTTP/1.0 are spoken here. Put a proxy in front for HTTP/2 and HTTP/3.",
  },
  "internal-error": {
    title: "The server made a mistake",
    about:
      "A bug. Nothing was acknowledged. Tell the operator the request id; the log line with that id has the cause.",
  },
  damaged: {
    title: "Stored data is damaged",
    about:
      "What the storage returned is not what was written: the checksum of a resource does not match, or the bytes of a file are missing. The detail names the resource; all others are served as before. The operator has to restore it from a backup.",
  },
  unavailable: {
    title: "The server cannot do this right now",
    about:
      "The store is out of reach, overloaded or shutting down. Nothing was acknowledged; wait for Retry-After and send the request again.",
  },
  "action-timeout": {
    title: "The action did not answer in time",
    about:
      "The action was told to stop, and can change nothing more; but what it has done by then stays done. Look at the resources before you send the request again.",
  },
  "storage-full": {
    title: "The storage is full",
    about:
      "The disk has no room for this write. Nothing was stored; reads go on. Writes resume by themselves once there is room.",
  },
} as const satisfies Record<string, { title: string; about: string }>;

export type ProblemKind = keyof typeof problemKinds;

/** An expected refusal: its kind, words for the client, and what helps to mend the request. */
export class Problem {
  readonly kind: ProblemKind;
  readonly detail: string;
  readonly errors: readonly (FieldError | ParameterError)[] | undefined;
  /** The scope that the caller lacks. */
  readonly scope: string | undefined;

  constructor(
    kind: ProblemKind,
    detail: string,
    more: { errors?: readonly (FieldError | ParameterError)[]; scope?: string } = {},
  ) {
    this.kind = kind;
    this.detail = detail;
    this.errors = more.errors;
    this.scope = more.scope;
  }
}
