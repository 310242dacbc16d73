// Checks the header section of an HTTP/2 request as strictly as that of HTTP/1.1.

import {
  fieldTooLarge,
  type HttpError,
  malformed,
  maxFieldLines,
  proxyNotSupported,
  repeatedHost,
  sectionTooLarge,
  targetTooLong,
  tooManyLines,
  unknownExpectation,
} from "./http1/http-errors.ts";
import { ReceivedHeaders } from "./http1/received-headers.ts";
import { findHostError, readTarget } from "./http1/request-rules.ts";

export interface Http2Head {
  readonly method: string;
  /** In origin form, or `*`. */
  readonly path: string;
  readonly authority: string;
  readonly headers: ReceivedHeaders;
  readonly expectsContinue: boolean;
}

/** `lines` has names and values in turn, as they were sent. */
export function readHead(
  lines: readonly string[],
  maxBytes: number,
  hasBody: boolean,
): Http2Head | HttpError {
  const fields = joinLines(lines);
  if (fields === undefined) return repeatedHost;
  const method = take(fields, ":method") ?? "";
  const path = take(fields, ":path") ?? "";
  const authority = take(fields, ":authority") ?? fields.get("host") ?? "";
  take(fields, ":scheme");
  const error =
    findSizeError(lines, path, maxBytes) ??
    findTargetError(path, method) ??
    findAuthorityError(authority, fields) ??
    findExpectationError(fields);
  if (error !== undefined) return error;
  fields.set("host", authority);
  // HTTP/2 has no field for a body of unknown length. The application expects that of HTTP/1.1.
  if (hasBody && !fields.has("content-length")) fields.set("transfer-encoding", "chunked");
  const headers = new ReceivedHeaders(fields);
  return { method, path, authority, headers, expectsContinue: fields.has("expect") };
}

/** Returns undefined when Host is repeated. Names are in lower case. */
function joinLines(lines: readonly string[]): Map<string, string> | undefined {
  const fields = new Map<string, string>();
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] ?? "";
    const value = lines[at + 1] ?? "";
    const before = fields.get(name);
    if (before !== undefined && name === "host") return undefined;
    const separator = name === "cookie" ? "; " : ", ";
    fields.set(name, before === undefined ? value : `${before}${separator}${value}`);
  }
  return fields;
}

function take(fields: Map<string, string>, name: string): string | undefined {
  const value = fields.get(name);
  fields.delete(name);
  return value;
}

function findSizeError(
  lines: readonly string[],
  path: string,
  maxBytes: number,
): HttpError | undefined {
  if (path.length > maxBytes) return targetTooLong;
  if (lines.length > maxFieldLines * 2) return tooManyLines;
  let sectionBytes = 0;
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] ?? "";
    const lineBytes = name.length + (lines[at + 1] ?? "").length + ": \r\n".length;
    if (lineBytes > maxBytes) return fieldTooLarge(name, maxBytes);
    sectionBytes += lineBytes;
  }
  return sectionBytes > maxBytes ? sectionTooLarge(maxBytes) : undefined;
}

const visible = /^[!-~]+$/;

function findTargetError(path: string, method: string): HttpError | undefined {
  if (method === "CONNECT") return proxyNotSupported;
  if (!path.startsWith("/") && path !== "*")
    return malformed("The path must begin with a slash (RFC 9113 §8.3.1).");
  if (!visible.test(path))
    return malformed("The path has characters that must be percent-encoded (RFC 3986 §2.1).");
  const target = readTarget(path, method);
  return "status" in target ? target : undefined;
}

/** `:authority` is the host (RFC 9113 §8.3.1). */
function findAuthorityError(
  authority: string,
  fields: ReadonlyMap<string, string>,
): HttpError | undefined {
  if ((fields.get("host") ?? authority) !== authority)
    return malformed("Host differs from :authority (RFC 9113 §8.3.1).");
  return findHostError(authority === "" ? undefined : authority, 1);
}

function findExpectationError(fields: ReadonlyMap<string, string>): HttpError | undefined {
  const expectation = fields.get("expect")?.toLowerCase();
  return expectation === undefined || expectation === "100-continue"
    ? undefined
    : unknownExpectation;
}
