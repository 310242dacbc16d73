// Parses the header section of an HTTP/1.1 request strictly (RFC 9112): what is not in the grammar is an error.

import { METHODS } from "node:http";
import { type FieldSection, parseFields, readLines } from "./field-section.ts";
import {
  type HttpError,
  isError,
  malformed,
  notHttp,
  proxyNotSupported,
  targetTooLong,
  unknownMethod,
  versionNotSupported,
} from "./http-errors.ts";
import { ReceivedHeaders } from "./received-headers.ts";
import { findCodingError, findHostError, readTarget, token } from "./request-rules.ts";

export interface RequestHead {
  /** As it was sent, without the empty line that ends it. */
  readonly text: string;
  readonly method: string;
  /** In origin form, or `*`. */
  readonly path: string;
  /** With the authority of an absolute target, or Host. In HTTP/1.0 both can be missing. `http://host*` for `*`. */
  readonly url: string;
  /** The minor version: 0 or 1. */
  readonly minor: number;
  readonly fields: FieldSection;
}

export interface HeadOptions {
  readonly maxHeaderBytes: number;
  readonly scheme: "http" | "https";
}

const methods = new Set(METHODS);
const visible = /^[!-~]+$/;
const versionForm = /^[A-Z]+\/\d+(?:\.\d+)?$/;

/**
 * Parses a complete section, without the empty line that ends it. Clients repeat requests and fields, so that
 * those of the last request are compared first.
 */
export function parseHead(
  text: string,
  { maxHeaderBytes: maxBytes, scheme }: HeadOptions,
  last: RequestHead | undefined,
): RequestHead | HttpError {
  if (last?.text === text) return last;
  const known = last && withOtherCredentials(text, last);
  if (known !== undefined) return known;
  const end = text.indexOf("\r\n");
  const line = readLine(end < 0 ? text : text.slice(0, end), maxBytes);
  if (isError(line)) return line;
  const { method, target, isPlain, minor } = line;
  const sent = end < 0 ? "" : text.slice(end + 2);
  const fields =
    last?.fields.text === sent ? last.fields : parseFields(sent, maxBytes, last?.fields);
  if (isError(fields)) return fields;
  const coding = fields.bodyBytes < 0 ? fields.headers.get("transfer-encoding") : null;
  const codingError = coding === null ? undefined : findCodingError(coding, minor);
  if (codingError !== undefined) return codingError;
  const hostError = fields.host === undefined ? findHostError(undefined, minor) : fields.hostError;
  if (hostError === undefined && isPlain)
    return { text, method, path: target, url: urlOf(scheme, fields.host, target), minor, fields };
  const read = readTarget(target, method);
  if ("status" in read) return read;
  if (hostError !== undefined) return hostError;
  const { path, authority = fields.host } = read;
  const url = urlOf(scheme, authority, path);
  return { text, method, path, url, minor, fields: withAuthority(fields, authority) };
}

/** What needs no further look, and has no space at its ends. */
const plainCredentials = /^[A-Za-z]+ [\w.~+/-]+=*$/;

/** A proxy sends the requests of many callers, which often differ in their credentials alone. */
function withOtherCredentials(text: string, last: RequestHead): RequestHead | undefined {
  const { credentials, headers, text: sent } = last.fields;
  if (credentials === undefined || sent === undefined || text.length !== last.text.length)
    return undefined;
  const start = text.length - sent.length;
  const from = start + credentials.start;
  const to = start + credentials.end;
  if (text.slice(0, from) !== last.text.slice(0, from)) return undefined;
  if (text.slice(to) !== last.text.slice(to)) return undefined;
  const value = text.slice(from, to);
  if (!plainCredentials.test(value)) return undefined;
  const fields: FieldSection = {
    ...last.fields,
    text: text.slice(start),
    headers: headers.with("authorization", value),
  };
  return { ...last, text, fields };
}

const urlOf = (scheme: string, authority = "localhost", path: string): string =>
  `${scheme}://${authority}${path}`;

/** A path that needs no further look. */
const plainTarget = /^\/[\w/?&=,:@!$'()*+;~[\]-]*$/;

interface RequestLine {
  readonly method: string;
  readonly target: string;
  /** Whether the target needs no further look. */
  readonly isPlain: boolean;
  readonly minor: number;
}

function readLine(line: string, maxBytes: number): RequestLine | HttpError {
  const first = line.indexOf(" ");
  const second = line.indexOf(" ", first + 1);
  const method = first < 0 ? line : line.slice(0, first);
  const version = first < 0 || second < 0 ? undefined : line.slice(second + 1);
  const minor = version === "HTTP/1.1" ? 1 : version === "HTTP/1.0" ? 0 : undefined;
  const target = line.slice(first + 1, second);
  const isKnown = minor !== undefined && methods.has(method) && method !== "CONNECT";
  const isPlain = plainTarget.test(target);
  if (isKnown && target.length <= maxBytes && (isPlain || visible.test(target)))
    return { method, target, isPlain, minor };
  const early = findEarlyLineError(line, maxBytes);
  if (early !== undefined) return early;
  if (first < 0) return notHttp;
  if (minor !== undefined && method === "CONNECT") return proxyNotSupported;
  if (minor !== undefined) return methods.has(method) ? badRequestLine : unknownMethod;
  return version === undefined || versionForm.test(version) ? versionNotSupported : badRequestLine;
}

/** Finds an error in the beginning of a request line. Every longer beginning has the same. */
function findEarlyLineError(line: string, maxBytes: number): HttpError | undefined {
  const [method = "", target, ...version] = line.split(" ");
  if (method.length > maxMethodBytes || !token.test(method)) return notHttp;
  if (target === undefined) return undefined;
  if (forbidden.test(line.slice(0, method.length + 1 + maxBytes))) return badRequestLine;
  if (target.length > maxBytes) return targetTooLong;
  const isTooLong = version.join(" ").length > maxVersionBytes;
  return isTooLong || forbidden.test(line) ? badRequestLine : undefined;
}

const badRequestLine = malformed(
  "The request line is not a method, a target without spaces, and a version (RFC 9112 §3).",
);

/** The application sees the authority of an absolute target as Host. */
function withAuthority(fields: FieldSection, authority: string | undefined): FieldSection {
  if (authority === undefined || authority === fields.host) return fields;
  const headers = new ReceivedHeaders(new Map([...fields.headers, ["host", authority]]));
  return { ...fields, headers, host: authority, text: undefined };
}

/** A control character, a CR without LF, or a LF without CR. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

/** Finds an error in the beginning of a section that has not arrived as a whole: that of the whole section. */
export function findEarlyError(text: string, maxBytes: number): HttpError | undefined {
  if (text === "" || text === "\r") return undefined;
  // The last CR may get its LF.
  const known = text.endsWith("\r") ? text.slice(0, -1) : text;
  const lineEnd = known.indexOf("\r\n");
  if (lineEnd < 0) return findEarlyLineError(known, maxBytes);
  const line = readLine(known.slice(0, lineEnd), maxBytes);
  if (isError(line)) return line;
  if (!forbidden.test(known) && text.length <= 2 * maxBytes + maxRestBytes) return undefined;
  const read = readLines(known.slice(lineEnd + 2), maxBytes);
  return isError(read) ? read : undefined;
}

const maxMethodBytes = 64;
const maxVersionBytes = 16;
/** What a section has beside the target and the fields: a method, a version, and the ends of lines. */
const maxRestBytes = maxMethodBytes + 16;
