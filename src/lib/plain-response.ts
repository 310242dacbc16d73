// Responses that are kept as text, so that a server writes them without the classes of the platform.

import { checkValue, type FieldName, fieldName, isAscii } from "./field-lines.ts";

type PlainBytes = Uint8Array<ArrayBuffer>;
export type PlainBody = string | PlainBytes;

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
  readonly values: ReadonlyMap<FieldName, string>;
  /** The lines of a message. */
  readonly lines: string;
  readonly isAscii: boolean;

  constructor(headers: Headers, leavesOut?: ReadonlySet<string>) {
    const fields = [...headers].filter(([name]) => !leavesOut?.has(name));
    this.values = new Map(fields.map(([name, value]) => [fieldName(name), value]));
    this.lines = [...this.values].map(([name, value]) => lineOf(name, value)).join("");
    this.isAscii = isAscii(this.lines);
  }

  /** Whether headers have exactly these fields, apart from those that are left out. */
  areIn(headers: Headers, leavesOut: ReadonlySet<string>): boolean {
    let [isEach, count] = [true, 0];
    headers.forEach((value, name) => {
      if (leavesOut.has(name)) return;
      count++;
      if (this.values.get(fieldName(name)) !== value) isEach = false;
    });
    return isEach && count === this.values.size;
  }
}

const lineOf = (name: FieldName, value: string): string => `${name.written}: ${value}\r\n`;

const knownFields = new WeakMap<Headers, SharedFields>();

/** Headers that are never changed are converted once. */
export function sharedFields(headers: Headers): SharedFields {
  const known = knownFields.get(headers);
  if (known !== undefined) return known;
  const fields = new SharedFields(headers);
  knownFields.set(headers, fields);
  return fields;
}

/** The methods of Headers that the application uses, on shared fields and those of one response. */
export class PlainHeaders {
  #shared: SharedFields | undefined;
  readonly #names: FieldName[] = [];
  readonly #values: string[] = [];
  /** Whether the lines are the same bytes in every encoding. */
  isAscii: boolean;

  constructor(shared: SharedFields) {
    this.#shared = shared;
    this.isAscii = shared.isAscii;
  }

  /** Makes all fields those of this response, before a shared one is changed. */
  #takeOver(): void {
    const shared = this.#shared;
    this.#shared = undefined;
    for (const [name, value] of shared?.values ?? []) this.add(name, value);
  }

  /** Adds a field that is not there, with a value in ASCII that is known to be valid. */
  add(name: FieldName, value: string): void {
    this.#names.push(name);
    this.#values.push(value);
  }

  get(name: string): string | null {
    const known = fieldName(name);
    const at = this.#names.indexOf(known);
    return (at < 0 ? this.#shared?.values.get(known) : this.#values[at]) ?? null;
  }

  has(name: string): boolean {
    const known = fieldName(name);
    return this.#names.includes(known) || this.#shared?.values.has(known) === true;
  }

  /** Throws if the value has a character that no field may have. */
  set(name: string, value: string): void {
    if (!checkValue(value)) this.isAscii = false;
    const known = fieldName(name);
    if (this.#shared?.values.has(known)) this.#takeOver();
    const at = this.#names.indexOf(known);
    if (at < 0) this.add(known, value);
    else this.#values[at] = value;
  }

  append(name: string, value: string): void {
    const before = this.get(name);
    this.set(name, before === null ? value : `${before}, ${value}`);
  }

  delete(name: string): void {
    const known = fieldName(name);
    if (this.#shared?.values.has(known)) this.#takeOver();
    const at = this.#names.indexOf(known);
    if (at < 0) return;
    this.#names.splice(at, 1);
    this.#values.splice(at, 1);
  }

  forEach(call: (value: string, name: string) => void): void {
    for (const [name, value] of this) call(value, name);
  }

  *[Symbol.iterator](): Generator<[string, string]> {
    for (const [name, value] of this.#shared?.values ?? []) yield [name.lowerCase, value];
    for (const [at, name] of this.#names.entries()) yield [name.lowerCase, this.#values[at] ?? ""];
  }

  /** The lines of all fields. */
  get lines(): string {
    let text = this.#shared?.lines ?? "";
    for (let at = 0; at < this.#names.length; at++)
      text += lineOf(this.#names[at] as FieldName, this.#values[at] ?? "");
    return text;
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

/** Returns the whole body of a request and marks it as read, if all of it has arrived; otherwise undefined. */
export const takeBody = Symbol("take the body");

export interface ReceivedRequest {
  [takeBody](): PlainBytes | undefined;
}

/** Undefined also for a request whose server does not tell what has arrived. */
export const takeReceivedBody = (request: Request): PlainBytes | undefined =>
  (request as Partial<ReceivedRequest>)[takeBody]?.();

/** For a request that takes it: the application uses what it has in common with a Response. */
export const plainResponse = (
  status: number,
  headers: PlainHeaders,
  content: PlainBody | null,
): Response => new PlainResponse(status, headers, content) as unknown as Response;
