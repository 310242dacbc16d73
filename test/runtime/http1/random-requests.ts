// Makes valid requests at random, and what a client that is broken or malicious makes of them.

import type { ReadRequest } from "./reading.ts";

/** Random choices that depend on a seed. */
export class Choices {
  readonly #random: () => number;
  constructor(random: () => number) {
    this.#random = random;
  }

  /** From 0 up to but not including the limit. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  isTrue(chance: number): boolean {
    return this.#random() < chance;
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T;
  }

  /** Up to this many. */
  list<T>(max: number, make: () => T): T[] {
    return Array.from({ length: this.below(max + 1) }, make);
  }

  text(characters: string, max: number): string {
    return this.list(max, () => this.of([...characters])).join("");
  }
}

export interface RandomRequest extends ReadRequest {
  readonly bytes: Buffer;
  readonly minor: number;
  readonly isLast: boolean;
  readonly isChunked: boolean;
}

const digits = "0123456789";
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const tokens = `${letters}${digits}!#$%&'*+-.^_\`|~`;
const valueCharacters = `${letters}${digits} \t,;:="()<>@[]{}/?\\'\x80\x85\xa0\xad\xff\xc3\xa4`;
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "M-SEARCH"];
const hosts = ["a", "api.example", "127.0.0.1:8080", "[::1]:80", "h:", "UPPER.example"];
const reserved = /^(?:host|content-length|transfer-encoding|connection|expect|cookie)$/i;

const space = (choices: Choices): string => choices.text(" \t", choices.isTrue(0.8) ? 1 : 3);

/** In capital and small letters. */
const mixed = (choices: Choices, word: string): string =>
  [...word].map((each) => (choices.isTrue(0.5) ? each.toUpperCase() : each)).join("");

/** Up to five requests of one connection. Clients repeat requests, some with another body. */
export function randomRequests(choices: Choices): RandomRequest[] {
  const requests: RandomRequest[] = [];
  const count = choices.below(6);
  while (requests.length < count) {
    const last = requests.at(-1);
    const maxBody = choices.isTrue(0.03) ? 8_000 : choices.of([3, 80, 300]);
    requests.push(
      last !== undefined && choices.isTrue(0.3)
        ? withOtherBody(choices, last)
        : randomRequest(choices, maxBody),
    );
  }
  return requests;
}

/** The same header section, and a body of the same length. */
function withOtherBody(choices: Choices, request: RandomRequest): RandomRequest {
  if (request.isChunked) return request;
  const body = Buffer.from(request.body.map(() => choices.below(256)));
  const head = request.bytes.subarray(0, request.bytes.length - body.length);
  return { ...request, body, bytes: Buffer.concat([head, body]) };
}

function randomRequest(choices: Choices, maxBody: number): RandomRequest {
  const method = choices.of(methods);
  const minor = choices.isTrue(0.1) ? 0 : 1;
  const lines: [string, string][] = [];
  const host = minor === 0 && choices.isTrue(0.5) ? undefined : choices.of(hosts);
  if (host !== undefined) lines.push([mixed(choices, "host"), host]);
  const { target, authority, path } = randomTarget(choices, method);
  lines.push(...randomFields(choices));

  const closes = choices.isTrue(0.06);
  const hasOptions = closes || choices.isTrue(minor === 0 ? 0.6 : 0.1);
  const connection = hasOptions ? randomConnection(choices, closes) : undefined;
  if (connection !== undefined) lines.push(["Connection", connection]);
  const expects = choices.isTrue(0.1);
  if (expects) lines.push(["Expect", mixed(choices, "100-continue")]);

  const hasBody = choices.isTrue(0.5);
  const body = randomBytes(choices, hasBody ? maxBody : 0);
  const isChunked = minor === 1 && choices.isTrue(0.4);
  if (isChunked) lines.push(["Transfer-Encoding", mixed(choices, "chunked")]);
  else if (body.length > 0 || choices.isTrue(0.2))
    lines.push(["Content-Length", `${choices.text("0", 2)}${body.length}`]);

  const sent = lines.map(
    ([name, value]) => `${name}:${space(choices)}${value}${space(choices)}\r\n`,
  );
  const empty = choices.isTrue(0.1) ? "\r\n".repeat(1 + choices.below(3)) : "";
  const head = `${empty}${method} ${target} HTTP/1.${minor}\r\n${sent.join("")}\r\n`;
  const content = isChunked ? inChunks(choices, body) : body;
  const named = authority ?? host;
  return {
    method,
    url: `http://${named ?? "localhost"}${path}`,
    fields: seenFields(lines, named),
    body,
    isChunked,
    minor,
    isLast: closes || (minor === 0 && !/keep-alive/i.test(connection ?? "")),
    bytes: Buffer.concat([Buffer.from(head, "latin1"), content]),
  };
}

interface RandomTarget {
  readonly target: string;
  readonly authority?: string;
  readonly path: string;
}

function randomTarget(choices: Choices, method: string): RandomTarget {
  if (method === "OPTIONS" && choices.isTrue(0.3)) return { target: "*", path: "*" };
  const segments = choices.list(3, () => `/a${choices.text(`${letters}%_~:@!$&'()*+,;=-.`, 8)}`);
  const query = choices.isTrue(0.4) ? `?${choices.text(`${letters}/?.=&%[]{}|^"<>\`\\`, 12)}` : "";
  const path = `${segments.join("") || "/"}${query}`;
  if (!choices.isTrue(0.15)) return { target: path, path };
  const authority = choices.of(hosts);
  const rest = path.startsWith("/?") && choices.isTrue(0.5) ? path.slice(1) : path;
  return { target: `${mixed(choices, "http")}://${authority}${rest}`, authority, path };
}

function randomFields(choices: Choices): [string, string][] {
  const names = choices.list(3, () => choices.text(tokens, 10) || "x");
  names.push(...choices.list(1, () => choices.of(["Accept", "cookie", "COOKIE", "__proto__"])));
  const list = names.flatMap((name) =>
    choices.isTrue(0.2) ? [name, mixed(choices, name)] : [name],
  );
  return list
    .filter((name) => /^cookie$/i.test(name) || !reserved.test(name))
    .map((name) => [name, choices.text(valueCharacters, 20).replace(/^[ \t]+|[ \t]+$/g, "")]);
}

function randomConnection(choices: Choices, closes: boolean): string {
  const others = choices.list(2, () =>
    choices.of(["keep-alive", "Keep-Alive", "TE", "closed", "x-close", ""]),
  );
  if (closes) others.splice(choices.below(others.length + 1), 0, mixed(choices, "close"));
  return others.join(choices.of([",", ", ", " ,\t"])).replace(/^[ \t]+|[ \t]+$/g, "");
}

/** Some look like a request or a chunk. */
export function randomBytes(choices: Choices, max: number): Buffer {
  if (max > 60 && choices.isTrue(0.2))
    return Buffer.from("0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n");
  return Buffer.from(choices.list(max, () => choices.below(256)));
}

function inChunks(choices: Choices, body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const size = Math.min(body.length - at, 1 + choices.below(choices.isTrue(0.5) ? 3 : 100));
    const number = `${choices.text("0", 2)}${mixed(choices, size.toString(16))}`;
    const line = Buffer.from(`${number}${randomExtension(choices)}\r\n`, "latin1");
    parts.push(line, body.subarray(at, at + size), Buffer.from("\r\n"));
    at += size;
  }
  const trailers = choices.isTrue(0.8)
    ? []
    : choices.list(2, () => `${choices.text(tokens, 5)}x: ${choices.text(valueCharacters, 9)}\r\n`);
  const end = `${choices.text("0", 2)}0${randomExtension(choices)}\r\n${trailers.join("")}\r\n`;
  return Buffer.concat([...parts, Buffer.from(end, "latin1")]);
}

const randomExtension = (choices: Choices): string =>
  choices.isTrue(0.85) ? "" : choices.of([";a", ' ; a = "b\\"\xff"', ";a=b;c", "\t;x=1"]);

/** Joined by name, as the application sees them. */
function seenFields(lines: readonly (readonly [string, string])[], host: string | undefined) {
  const values = new Map<string, string>();
  for (const [name, value] of lines) {
    const lower = name.toLowerCase();
    const before = values.get(lower);
    const mark = lower === "cookie" ? "; " : ", ";
    values.set(lower, before === undefined ? value : `${before}${mark}${value}`);
  }
  if (host !== undefined) values.set("host", host);
  return [...values];
}

/** Packets of random sizes; sometimes one byte each, or all in one. */
export function inPackets(choices: Choices, bytes: Buffer): Buffer[] {
  const max = choices.of([1, 4, 30, 200, bytes.length + 1]);
  const packets: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = max > bytes.length ? bytes.length : 1 + choices.below(max);
    packets.push(bytes.subarray(at, at + size));
    at += size;
  }
  return packets;
}

const nastyBytes = [0, 9, 10, 13, 32, 58, 44, 59, 48, 0x7f, 0x80, 0xa0, 0xff, 0x0b, 0x0c, 0x31];
const nastyLines = [
  "Content-Length: 3",
  "Content-Length: 0",
  "Content-Length: +3",
  "Content-Length: 3, 3",
  "Content-Length: 0x3",
  "Content-Length:",
  "Content-Length : 3",
  "Content_Length: 3",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: chunked\xa0",
  "Transfer-Encoding:\x0bchunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: ,chunked",
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding",
  "Transfer-Encoding\t: chunked",
  " Transfer-Encoding: chunked",
  "Host: b",
  "Host: b c",
  "Connection: close\xa0",
  "Connection: close",
  "Expect: 200-ok",
  "GET /hidden HTTP/1.1",
  "GET /hidden HTTP/1.1\r\nHost: a\r\n",
  ": x",
  "",
  "\n",
  "0",
  "0\r\n",
  "5 ",
  "fffffffffffff",
  `X: ${"x".repeat(700)}`,
  `X: ${"x".repeat(2_000)}`,
];

/** Before the size of a chunk, some leave it a size and some do not. */
const zeros = [10, 13, 16].map((count) => "0".repeat(count));

/** Changes a stream in a few places. */
export function mutated(choices: Choices, stream: Buffer): Buffer {
  let bytes = stream;
  for (let count = 1 + choices.below(3); count > 0; count--) bytes = mutatedOnce(choices, bytes);
  return bytes;
}

function mutatedOnce(choices: Choices, bytes: Buffer): Buffer {
  const at = choices.below(bytes.length + 1);
  const replace = (start: number, removed: number, text: string | Buffer) =>
    Buffer.concat([
      bytes.subarray(0, start),
      typeof text === "string" ? Buffer.from(text, "latin1") : text,
      bytes.subarray(start + removed),
    ]);
  const lineEnd = bytes.indexOf("\r\n", at);
  const kind = choices.below(10);
  if (kind === 0) return replace(at, 1, Buffer.from([choices.of(nastyBytes)]));
  if (kind === 1) return replace(at, 0, Buffer.from([choices.of(nastyBytes)]));
  if (kind === 2) return replace(at, 1 + choices.below(4), "");
  if (kind === 3) return bytes.subarray(0, at);
  if (kind === 4) return replace(at, 0, randomBytes(choices, 30));
  if (lineEnd < 0) return replace(at, 0, choices.of(nastyLines));
  if (kind === 5) return replace(lineEnd + choices.below(2), 1, "");
  if (kind === 6) return replace(lineEnd, 0, choices.of([" ", "\t", "\xa0", "\r", "\0"]));
  if (kind === 7) return replace(lineEnd + 2, 0, choices.of([" ", "\t", "\n", "\r", ...zeros]));
  return replace(lineEnd, 0, `\r\n${choices.of(nastyLines)}`);
}
