// Parses the header fields of an HTTP/1.1 request strictly (RFC 9112 §5), and reads what decides about its framing.

import { ownText } from "../../lib/own-text.ts";
import {
  badFieldLine,
  badLength,
  fieldTooLarge,
  foldedField,
  forbiddenCharacter,
  type HttpError,
  isError,
  malformed,
  maxFieldLines,
  repeatedHost,
  sectionTooLarge,
  tooManyLines,
  unknownExpectation,
} from "./http-errors.ts";
import { ReceivedHeaders } from "./received-headers.ts";
import { findHostError, isSpace, token, trimmed } from "./request-rules.ts";

/** Whether the connection ends after the response, or does not in HTTP/1.0. */
export type ConnectionOption = "close" | "keep-alive";

export interface FieldSection {
  /** As it was sent, without the last CR LF. Undefined when it has another Host than the headers. */
  readonly text: string | undefined;
  /** Those that the next request may repeat. */
  readonly lines: readonly FieldLine[];
  readonly headers: ReceivedHeaders;
  /** Where the value of Authorization is in the text, if the next request may have another one there. */
  readonly credentials: TextRange | undefined;
  readonly host: string | undefined;
  readonly hostError: HttpError | undefined;
  /** The length of the body; -1 if it is chunked. */
  readonly bodyBytes: number;
  readonly connection: ConnectionOption | undefined;
  readonly expectsContinue: boolean;
}

interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A valid line. */
interface FieldLine {
  /** As it was sent, without its CR LF. */
  readonly text: string;
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** A line that is used again keeps its first section in memory, so large sections are parsed as a whole. */
const maxReusedBytes = 2_048;
const maxReusedLines = 32;
const none: readonly FieldLine[] = [];

interface FieldLines {
  readonly lines: readonly FieldLine[];
  readonly values: Map<string, string>;
}

/** Clients repeat most lines, so that those of the last request are compared first. */
export function parseFields(
  text: string,
  maxBytes: number,
  last: FieldSection | undefined,
): FieldSection | HttpError {
  const read = readLines(text, maxBytes, last?.lines ?? none);
  if (isError(read)) return read;
  const { lines, values } = read;
  if (text.length + 2 > maxBytes) return sectionTooLarge(maxBytes);
  const isReused = text.length <= maxReusedBytes && lines.length <= maxReusedLines;
  return describe(text, isReused ? lines : none, values);
}

/** Returns the error of the first line that has one, whatever follows it. */
export function readLines(
  text: string,
  maxBytes: number,
  known: readonly FieldLine[] = none,
): FieldLines | HttpError {
  const lines: FieldLine[] = [];
  const values = new Map<string, string>();
  for (let start = 0; start < text.length; ) {
    if (lines.length === maxFieldLines) return tooManyLines;
    if (start > maxBytes) return sectionTooLarge(maxBytes);
    const line = lineAt(text, start, known[lines.length]) ?? parseLine(text, start, maxBytes);
    if (isError(line)) return line;
    const { name, value } = line;
    const before = values.get(name);
    if (before === undefined) values.set(name, value);
    else if (name === "host") return repeatedHost;
    else if (name === "content-length") return badLength;
    else values.set(name, `${before}${name === "cookie" ? "; " : ", "}${value}`);
    lines.push(line);
    start += line.text.length + 2;
  }
  return { lines, values };
}

/** Returns the line if it is the next one in the text. */
function lineAt(text: string, start: number, line: FieldLine | undefined): FieldLine | undefined {
  if (line === undefined) return undefined;
  const end = start + line.text.length;
  if (text.slice(start, end) !== line.text) return undefined;
  const isWhole =
    end === text.length || (text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10);
  return isWhole ? line : undefined;
}

/** A control character; a CR or LF is alone, because the line ends before the first CR LF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const forbidden = /[\0-\x08\n-\x1f\x7f]/;

function parseLine(section: string, start: number, maxBytes: number): FieldLine | HttpError {
  const end = section.indexOf("\r\n", start);
  const text = section.slice(start, end < 0 ? section.length : end);
  // In what is too large, only the beginning counts.
  if (forbidden.test(text.slice(0, maxBytes))) return forbiddenCharacter;
  const colon = text.indexOf(":");
  const name = colon < 0 ? undefined : lowerCased(text.slice(0, colon));
  if (text.length + 2 > maxBytes) return lineTooLarge(text, maxBytes);
  if (name === undefined) return isSpace(text.charCodeAt(0)) ? foldedField : badFieldLine;
  return { text, name, value: trimmed(text, colon + 1) };
}

/** Names the field if it is one, whether the rest of its line has arrived or not. */
function lineTooLarge(text: string, maxBytes: number): HttpError {
  const [name = ""] = text.slice(0, maxShownBytes).split(":", 1);
  return token.test(name) ? fieldTooLarge(name, maxBytes) : sectionTooLarge(maxBytes);
}

const maxShownBytes = 80;

/** Undefined also where the field is repeated, because its values are joined. */
function findCredentials(lines: readonly FieldLine[]): TextRange | undefined {
  let start = 0;
  let found: TextRange | undefined;
  for (const { text, name, value } of lines) {
    if (name === "authorization") {
      if (found !== undefined) return undefined;
      // Only spaces and tabs follow the value.
      const valueStart = start + text.lastIndexOf(value);
      found = { start: valueStart, end: valueStart + value.length };
    }
    start += text.length + 2;
  }
  return found;
}

function describe(
  text: string,
  lines: readonly FieldLine[],
  values: Map<string, string>,
): FieldSection | HttpError {
  const length = values.get("content-length");
  const isChunked = values.has("transfer-encoding");
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return badLength;
  if (length !== undefined && isChunked)
    return malformed("Send Content-Length or Transfer-Encoding, not both (RFC 9112 §6.1).");
  const expectation = values.get("expect")?.toLowerCase();
  if (expectation !== undefined && expectation !== "100-continue") return unknownExpectation;
  const host = values.get("host");
  return {
    text,
    lines,
    headers: new ReceivedHeaders(values),
    credentials: findCredentials(lines),
    host,
    hostError: hostErrorOf(host),
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
  if (connection === undefined || connection === "keep-alive") return connection;
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
  const copy = ownText(name);
  const lower = copy.toLowerCase();
  if (name.length <= maxKnownBytes) knownNames.set(copy, lower);
  return lower;
}
