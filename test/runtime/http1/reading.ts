// A second reading of RFC 9112, plain and slow, to compare the server with.

import { METHODS } from "node:http";

export interface ReadRequest {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export interface Reading {
  /** Those that are complete. */
  readonly requests: readonly ReadRequest[];
  /** What follows them: nothing, a part of a request, what is not a request, or what nobody reads. */
  readonly end: "nothing" | "part" | "error" | "closed";
  /** A request whose body is not whole or not valid; the application may see it. */
  readonly cut: ReadRequest | undefined;
  /** The method of what follows, as far as the response to it depends on that. */
  readonly lastMethod: "HEAD" | undefined;
}

/** Thrown where the bytes are no request, and where they end too early. */
class Bad extends Error {}
class Short extends Error {}

/** The rest of a stream. */
class Rest {
  #text: string;
  constructor(bytes: Buffer) {
    this.#text = bytes.toString("latin1");
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  get isHead(): boolean {
    return this.#text.startsWith("HEAD ");
  }

  get length(): number {
    return this.#text.length;
  }

  take(count: number): string {
    if (this.#text.length < count) throw new Short();
    const taken = this.#text.slice(0, count);
    this.#text = this.#text.slice(count);
    return taken;
  }

  /** What comes before the end mark, which is taken, too. */
  takeUntil(mark: string): string {
    const at = this.#text.indexOf(mark);
    if (at < 0) throw new Short();
    const taken = this.take(at);
    this.take(mark.length);
    return taken;
  }

  skip(mark: string): void {
    while (this.#text.startsWith(mark)) this.take(mark.length);
  }
}

export function readStream(bytes: Buffer, maxHeaderBytes: number): Reading {
  const rest = new Rest(bytes);
  const requests: ReadRequest[] = [];
  let cut: ReadRequest | undefined;
  let lastMethod: Reading["lastMethod"];
  try {
    for (;;) {
      rest.skip("\r\n");
      lastMethod = rest.isHead ? "HEAD" : undefined;
      if (rest.isEmpty) return { requests, end: "nothing", cut: undefined, lastMethod };
      cut = undefined;
      const head = readHead(takeHead(rest, maxHeaderBytes), maxHeaderBytes);
      cut = head.request;
      const body = Buffer.from(readBody(rest, head), "latin1");
      requests.push({ ...head.request, body });
      if (head.isLast) return { requests, end: "closed", cut: undefined, lastMethod };
    }
  } catch (error) {
    if (error instanceof Bad) return { requests, end: "error", cut, lastMethod };
    if (error instanceof Short) return { requests, end: "part", cut, lastMethod };
    throw error;
  }
}

function takeHead(rest: Rest, maxHeaderBytes: number): string {
  const { length } = rest;
  try {
    return rest.takeUntil("\r\n\r\n");
  } catch (error) {
    // No section is so long.
    if (length > 3 * maxHeaderBytes) throw new Bad();
    throw error;
  }
}

interface Head {
  readonly request: ReadRequest;
  readonly length: number | "chunked";
  readonly isLast: boolean;
}

const isToken = (text: string): boolean => /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(text);

function demand(isTrue: boolean): asserts isTrue {
  if (!isTrue) throw new Bad();
}

function readHead(text: string, maxBytes: number): Head {
  const [line = "", ...lines] = text.split("\r\n");
  const [method = "", target = "", version = "", more] = line.split(" ");
  demand(more === undefined);
  demand(METHODS.includes(method) && method !== "CONNECT");
  demand(version === "HTTP/1.1" || version === "HTTP/1.0");
  demand(target.length <= maxBytes && lines.join("\r\n").length + 2 <= maxBytes);
  const sent = lines.map(readField);
  const values = (name: string) =>
    sent.filter((field) => field[0] === name).map(([, each]) => each);

  const hosts = values("host");
  demand(hosts.length === 1 || (hosts.length === 0 && version === "HTTP/1.0"));
  demand(hosts.every(isAuthority));
  const { authority = hosts[0] ?? "localhost", path } = readTarget(target, method);
  if (hosts.length > 0 || /^http/i.test(target)) replaceHost(sent, authority);

  const options = values("connection").flatMap((value) => value.split(","));
  const hasOption = (option: string) => options.some((each) => isWord(each, option));
  const lengths = values("content-length");
  const codings = values("transfer-encoding").join(",").split(",");
  const isChunked = values("transfer-encoding").length > 0;
  demand(lengths.length < 2 && lengths.every((length) => /^[0-9]{1,15}$/.test(length)));
  demand(!isChunked || (lengths.length === 0 && version === "HTTP/1.1"));
  demand(!isChunked || (codings.length === 1 && isWord(codings[0], "chunked")));
  demand(values("expect").every((value) => isWord(value, "100-continue")));
  demand(values("expect").length < 2);
  return {
    request: {
      method,
      url: `http://${authority}${path}`,
      fields: joined(sent),
      body: Buffer.alloc(0),
    },
    length: isChunked ? "chunked" : Number(lengths[0] ?? 0),
    isLast: hasOption("close") || (version === "HTTP/1.0" && !hasOption("keep-alive")),
  };
}

type Field = [name: string, value: string];

function readField(line: string): Field {
  const match = /^([^:]+):[ \t]*([\t -~\x80-\xff]*)$/.exec(line);
  demand(match !== null && isToken(match[1] ?? ""));
  return [(match[1] ?? "").toLowerCase(), (match[2] ?? "").replace(/[ \t]+$/, "")];
}

const isWord = (text: string | undefined, word: string): boolean =>
  text?.replace(/^[ \t]+|[ \t]+$/g, "").toLowerCase() === word;

/** The authority of an absolute target replaces Host. */
function replaceHost(fields: Field[], authority: string): void {
  const field = fields.find(([name]) => name === "host");
  if (field === undefined) fields.push(["host", authority]);
  else field[1] = authority;
}

function joined(fields: readonly Field[]): Field[] {
  const values = new Map<string, string>();
  for (const [name, value] of fields) {
    const before = values.get(name);
    const mark = name === "cookie" ? "; " : ", ";
    values.set(name, before === undefined ? value : before + mark + value);
  }
  return [...values];
}

function isAuthority(text: string): boolean {
  const match = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]+)(?::([0-9]*))?$/.exec(text);
  return match !== null && Number(match[1] ?? "") < 65_536;
}

function readTarget(target: string, method: string): { authority?: string; path: string } {
  demand(/^[!-~]+$/.test(target) && !target.includes("#"));
  if (target === "*") demand(method === "OPTIONS");
  if (target === "*") return { path: target };
  const match = /^https?:\/\/([^/?]*)(.*)$/i.exec(target);
  const [, authority, after = ""] = match ?? [];
  demand(target.startsWith("/") || (authority !== undefined && isAuthority(authority)));
  const path = target.startsWith("/") ? target : after.startsWith("/") ? after : `/${after}`;
  const segments = (path.split("?")[0] ?? "").replace(/%2e/gi, ".").split("/");
  demand(!segments.some((each) => each === "." || each === ".." || each.includes("\\")));
  return authority === undefined || target.startsWith("/") ? { path } : { authority, path };
}

function readBody(rest: Rest, { length }: Head): string {
  return length === "chunked" ? readChunks(rest) : rest.take(length);
}

/** The limit for a line, and for all that is ignored. */
const maxBytes = 16_384;

function readChunks(rest: Rest): string {
  let body = "";
  let ignored = 0;
  for (;;) {
    const line = takeLine(rest);
    const match = /^([0-9A-Fa-f]{1,12})((?:[ \t]*;[\t -~\x80-\xff]*)?)$/.exec(line);
    demand(match !== null);
    ignored += match[2]?.length ?? 0;
    demand(ignored <= maxBytes);
    const size = Number.parseInt(match[1] ?? "", 16);
    if (size === 0) break;
    body += rest.take(size);
    demand(rest.take(2) === "\r\n");
  }
  for (;;) {
    const line = takeLine(rest);
    if (line === "") return body;
    const colon = line.indexOf(":");
    demand(colon > 0 && isToken(line.slice(0, colon)));
    demand(/^[\t -~\x80-\xff]*$/.test(line));
    ignored += line.length;
    demand(ignored <= maxBytes);
  }
}

/** A line ends with CR LF; no other LF ends it. */
function takeLine(rest: Rest): string {
  const line = rest.takeUntil("\n");
  demand(line.endsWith("\r") && line.length <= maxBytes);
  return line.slice(0, -1);
}
