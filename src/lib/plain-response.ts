// Responses that are kept as text, so that a server writes them without the classes of the platform.

import { capitalized, checkValue, isAscii } from "./field-lines.ts";

export type PlainBody = string | Uint8Array<ArrayBuffer>;

const bodyKey = Symbol("plain body");

interface Marked {
  [bodyKey]?: PlainBody;
}

/** Creates a Response whose body is known. */
export function responseOf(body: PlainBody | null, init: ResponseInit): Response {
  const response = new Response(body, init);
  if (body !== null) (response as Marked)[bodyKey] = body;
  return response;
}

/** Returns undefined when the body is a stream, a Blob, or was not given to `responseOf`. */
export const plainBody = (response: Response): PlainBody | undefined =>
  (response as Marked)[bodyKey];

/** Header fields that many responses share. */
export class SharedFields {
  readonly values: ReadonlyMap<string, string>;
  /** The lines of a message. */
  readonly lines: string;
  readonly isAscii: boolean;

  constructor(headers: Headers, leavesOut?: ReadonlySet<string>) {
    this.values = new Map([...headers].filter(([name]) => !leavesOut?.has(name)));
    this.lines = linesOf([...this.values].flatMap(([name, value]) => [capitalized(name), value]));
    this.isAscii = isAscii(this.lines);
  }
}

function linesOf(pairs: readonly string[]): string {
  let text = "";
  for (let at = 0; at < pairs.length; at += 2) text += `${pairs[at]}: ${pairs[at + 1]}\r\n`;
  return text;
}

/** The methods of Headers that the application uses, on shared fields and those of one response. */
export class PlainHeaders {
  #shared: SharedFields | undefined;
  /** Names and values in turn, as they are sent. */
  readonly #own: string[];
  /** Whether the lines are the same bytes in every encoding. */
  isAscii: boolean;

  /** The own fields are in ASCII. */
  constructor(shared: SharedFields, own: string[] = []) {
    this.#shared = shared;
    this.#own = own;
    this.isAscii = shared.isAscii;
  }

  /** The position of a name among the own fields; -1 without it. */
  #find(name: string): number {
    const own = this.#own;
    for (let at = 0; at < own.length; at += 2) {
      const each = own[at] ?? "";
      if (each.length === name.length && each.toLowerCase() === name.toLowerCase()) return at;
    }
    return -1;
  }

  /** Makes all fields those of this response, before a shared one is changed. */
  #takeOver(): void {
    const shared = this.#shared;
    this.#shared = undefined;
    for (const [name, value] of shared?.values ?? []) this.#own.push(capitalized(name), value);
  }

  #isShared(name: string): boolean {
    return this.#shared?.values.has(name.toLowerCase()) ?? false;
  }

  get(name: string): string | null {
    const at = this.#find(name);
    return (at < 0 ? this.#shared?.values.get(name.toLowerCase()) : this.#own[at + 1]) ?? null;
  }

  has(name: string): boolean {
    return this.#find(name) >= 0 || this.#isShared(name);
  }

  /** Throws if the value has a character that no field may have. */
  set(name: string, value: string): void {
    if (!checkValue(value)) this.isAscii = false;
    if (this.#isShared(name)) this.#takeOver();
    const at = this.#find(name);
    if (at < 0) this.#own.push(capitalized(name), value);
    else this.#own[at + 1] = value;
  }

  append(name: string, value: string): void {
    const before = this.get(name);
    this.set(name, before === null ? value : `${before}, ${value}`);
  }

  delete(name: string): void {
    if (this.#isShared(name)) this.#takeOver();
    const at = this.#find(name);
    if (at >= 0) this.#own.splice(at, 2);
  }

  forEach(call: (value: string, name: string) => void): void {
    for (const [name, value] of this) call(value, name);
  }

  *[Symbol.iterator](): Generator<[string, string]> {
    yield* this.#shared?.values ?? [];
    const own = this.#own;
    for (let at = 0; at < own.length; at += 2)
      yield [(own[at] ?? "").toLowerCase(), own[at + 1] ?? ""];
  }

  /** The lines of all fields. */
  get lines(): string {
    return `${this.#shared?.lines ?? ""}${linesOf(this.#own)}`;
  }
}

/** A response with the members that the application and a server use. */
export class PlainResponse {
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly content: PlainBody | null;

  constructor(status: number, headers: PlainHeaders, content: PlainBody | null) {
    this.status = status;
    this.headers = headers;
    this.content = content;
  }

  get body(): ReadableStream<Uint8Array> | null {
    return this.content === null ? null : (new Response(this.content).body as ReadableStream);
  }
}

/** Returns the same response with another status. */
export function withStatus(response: Response, status: number): Response {
  const { headers, body } = response;
  if (response instanceof PlainResponse)
    return plainResponse(status, response.headers, response.content);
  return new Response(body, { status, headers });
}

/** A request that has this member is answered by a server that can send a PlainResponse. */
export const takesPlainResponse = Symbol("takes a plain response");

export const canBePlain = (request: Request): boolean => takesPlainResponse in request;

/** For a request that takes it: the application uses what it has in common with a Response. */
export const plainResponse = (
  status: number,
  headers: PlainHeaders,
  content: PlainBody | null,
): Response => new PlainResponse(status, headers, content) as unknown as Response;
