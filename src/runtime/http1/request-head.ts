// Parses the header section of an HTTP/1.1 request strictly (RFC 9112): what is not in the grammar is an error.

import { METHODS } from "node:http";
import {
  fieldTooLarge,
  foldedField,
  type HttpError,
  malformed,
  maxFieldLines,
  notHttp,
  proxyNotSupported,
  repeatedHost,
  sectionTooLarge,
  targetTooLong,
  tooManyLines,
  unknownExpectation,
  unknownMethod,
  versionNotSupported,
} from "./http-errors.ts";
import { ReceivedHeaders } from "./received-headers.ts";
import { findCodingError, findHostError, isSpace, readTarget, trimmed } from "./request-rules.ts";

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

/** Whether the connection ends after the response, or does not in HTTP/1.0. */
export type ConnectionOption = "close" | "keep-alive";

export interface FieldSection {
  /** As it was sent, without the last CR LF. Undefined when it has another Host than the headers. */
  readonly text: string | undefined;
  readonly headers: ReceivedHeaders;
  readonly host: string | undefined;
  readonly hostError: HttpError | undefined;
  /** The length of the body; -1 if it is chunked. */
  readonly bodyBytes: number;
  readonly connection: ConnectionOption | undefined;
  readonly expectsContinue: boolean;
}

export interface HeadOptions {
  readonly maxHeaderBytes: number;
  readonly scheme: "http" | "https";
}

export const isError = (value: object): value is HttpError => "detail" in value;

const methods = new Set(METHODS);
const token = /^[!#$%&'*+\-.^_`|~\w]+$/;
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
  const end = text.indexOf("\r\n");
  const line = readLine(end < 0 ? text : text.slice(0, end));
  if (isError(line)) return line;
  const { method, target, minor } = line;
  const sent = end < 0 ? "" : text.slice(end + 2);
  const fields = last?.fields.text === sent ? last.fields : parseFields(sent, maxBytes);
  if (isError(fields)) return fields;
  const coding = fields.bodyBytes < 0 ? fields.headers.get("transfer-encoding") : null;
  const codingError = coding === null ? undefined : findCodingError(coding, minor);
  if (codingError !== undefined) return codingError;
  if (target.length > maxBytes) return targetTooLong;
  const hostError = fields.host === undefined ? findHostError(undefined, minor) : fields.hostError;
  if (hostError === undefined && plainTarget.test(target))
    return { text, method, path: target, url: urlOf(scheme, fields.host, target), minor, fields };
  if (!visible.test(target)) return badRequestLine;
  const read = readTarget(target, method);
  if ("status" in read) return read;
  if (hostError !== undefined) return hostError;
  const { path, authority = fields.host } = read;
  const url = urlOf(scheme, authority, path);
  return { text, method, path, url, minor, fields: withAuthority(fields, authority) };
}

const urlOf = (scheme: string, authority = "localhost", path: string): string =>
  `${scheme}://${authority}${path}`;

/** A path that needs no further look. */
const plainTarget = /^\/[\w/?&=,:@!$'()*+;~[\]-]*$/;

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly minor: number;
}

function readLine(line: string): RequestLine | HttpError {
  const first = line.indexOf(" ");
  const second = line.indexOf(" ", first + 1);
  const method = first < 0 ? line : line.slice(0, first);
  const version = first < 0 || second < 0 ? undefined : line.slice(second + 1);
  const minor = version === "HTTP/1.1" ? 1 : version === "HTTP/1.0" ? 0 : undefined;
  if (minor !== undefined && methods.has(method))
    return method === "CONNECT"
      ? proxyNotSupported
      : { method, target: line.slice(first + 1, second), minor };
  if (first < 0 || !token.test(method)) return notHttp;
  if (minor !== undefined) return unknownMethod;
  return version === undefined || versionForm.test(version) ? versionNotSupported : badRequestLine;
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

function parseFields(text: string, maxBytes: number): FieldSection | HttpError {
  if (forbidden.test(text))
    return malformed("A header field contains a control character or a single CR or LF.");
  const values = new Map<string, string>();
  // No array of lines: this is a fifth faster.
  let count = 0;
  for (let start = 0, end = 0; start < text.length; start = end + 2) {
    end = text.indexOf("\r\n", start);
    if (end < 0) end = text.length;
    if (++count > maxFieldLines) return tooManyLines;
    const colon = text.indexOf(":", start);
    const hasName = colon >= 0 && colon < end;
    const name = hasName ? lowerCased(text.slice(start, colon)) : undefined;
    if (end - start + 2 > maxBytes)
      return fieldTooLarge(hasName ? text.slice(start, colon) : "", maxBytes);
    if (name === undefined) return isSpace(text.charCodeAt(start)) ? foldedField : badFieldLine;
    const value = trimmed(text, colon + 1, end);
    const before = values.get(name);
    if (before === undefined) values.set(name, value);
    else if (name === "host") return repeatedHost;
    else if (name === "content-length") return badLength;
    else values.set(name, `${before}${name === "cookie" ? "; " : ", "}${value}`);
  }
  return text.length + 2 > maxBytes ? sectionTooLarge(maxBytes) : describe(text, values);
}

const badFieldLine = malformed(
  "A header line is not a name, a colon and a value, without a space before the colon (RFC 9112 §5).",
);
const badLength = malformed("Content-Length is not one number (RFC 9110 §8.6).");

function describe(text: string, values: Map<string, string>): FieldSection | HttpError {
  const length = values.get("content-length");
  const isChunked = values.has("transfer-encoding");
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return badLength;
  if (length !== undefined && isChunked)
    return malformed("Send Content-Length or Transfer-Encoding, not both (RFC 9112 §6.1).");
  const expectation = values.get("expect")?.toLowerCase();
  if (expectation !== undefined && expectation !== "100-continue") return unknownExpectation;
  return {
    text,
    headers: new ReceivedHeaders(values),
    host: values.get("host"),
    hostError: hostErrorOf(values.get("host")),
    bodyBytes: isChunked ? -1 : Number(length ?? 0),
    connection: connectionOption(values.get("connection")),
    expectsContinue: expectation !== undefined,
  };
}

let lastValidHost: string | undefined;

/** Clients repeat the same host. Whether it may be missing depends on the version. */
function hostErrorOf(host: string | undefined): HttpError | undefined {
  if (host === lastValidHost) return undefined;
  const error = findHostError(host, 0);
  if (error === undefined) lastValidHost = host;
  return error;
}

function connectionOption(connection: string | undefined): ConnectionOption | undefined {
  if (connection === undefined) return undefined;
  const options = connection.split(",").map((option) => trimmed(option).toLowerCase());
  return (["close", "keep-alive"] as const).find((option) => options.includes(option));
}

const maxKnownNames = 500;
const maxKnownBytes = 64;
const knownNames = new Map<string, string>();

/** Undefined for what is not a name. Clients send few different names. */
function lowerCased(name: string): string | undefined {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  if (!token.test(name)) return undefined;
  if (knownNames.size >= maxKnownNames) knownNames.clear();
  // A copy, because a part of a text keeps all of it in memory.
  const copy = Buffer.from(name, "latin1").toString("latin1");
  const lower = copy.toLowerCase();
  if (name.length <= maxKnownBytes) knownNames.set(copy, lower);
  return lower;
}

/** Finds an error in the beginning of a section that has not arrived as a whole. */
export function findEarlyError(text: string, maxBytes: number): HttpError | undefined {
  if (text === "" || text === "\r") return undefined;
  const lineEnd = text.indexOf("\r\n");
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const [method = "", target] = line.split(" ", 2);
  if (!token.test(method) || (target === undefined && method.length > maxMethodBytes))
    return notHttp;
  // The last CR may get its LF.
  if (forbidden.test(text.endsWith("\r") ? text.slice(0, -1) : text)) return badRequestLine;
  if (target !== undefined && target.length > maxBytes) return targetTooLong;
  if (text.length <= 2 * maxBytes + maxRestBytes) return undefined;
  const lastLine = text.slice(text.lastIndexOf("\r\n") + 2);
  const [name = ""] = lastLine.split(":", 1);
  return lastLine.length > maxBytes && lowerCased(name) !== undefined
    ? fieldTooLarge(name, maxBytes)
    : sectionTooLarge(maxBytes);
}

const maxMethodBytes = 64;
/** What a section has beside the target and the fields: a method, a version, and the ends of lines. */
const maxRestBytes = maxMethodBytes + 16;
