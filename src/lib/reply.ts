// What a handler answers, as plain data. The HTTP/1.1 layer writes it; an embedding program gets it as a Response.

import { checkValue, type FieldName, fieldName } from "./field-lines.ts";
import { takeBody } from "./received-request.ts";

/**
 * Text and bytes are written with the header section, a stream as fast as the client reads it. A Blob is for
 * the runtime of an embedding program, which sends a file faster than a stream. Here is the place of a body
 * that stays open for frames which many connections share.
 */
export type ReplyBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | Blob | null;

/** The validators of a state. */
export interface Validators {
  /** Empty when it is not known. */
  readonly etag: string;
  /** Undefined when there is no date to compare (RFC 9110 §13.1.3, §13.1.4). */
  readonly updatedAt: number | undefined;
  /**
   * Whether no other state has the same date. Two changes within a second share it, and so does a
   * change whose time was adjusted because the clock was behind (see store/times.ts).
   */
  readonly isDateExact: boolean;
  /** Whether a tag is that of the same state as other callers see it. */
  readonly isOtherTag?: (tag: string) => boolean;
}

/**
 * For whom and how long a reply may be repeated. `Access` is what the application knows of a caller, and `On`
 * has its words for what a reply can depend on.
 */
export interface Repeat<Access = never, On = string> {
  /**
   * Whether the caller may read the state that the reply shows, and it has not changed. Answers at once or
   * not at all: false where the store has to be waited for.
   */
  readonly isCurrentFor: (access: Access) => boolean;
  /** How the resource is shown; to others it may be shown with other fields. */
  readonly mask?: object;
  /** What decides about the reply besides the state of all collections that are shown. */
  readonly dependsOn: On;
}

/** Header fields that many replies share, in the order of their names. */
export class SharedFields {
  readonly values: ReadonlyMap<FieldName, string>;
  /** The lines of a message. */
  readonly lines: string = "";
  readonly isAscii: boolean = true;

  /** Throws if a value has a character that no field may have. */
  constructor(fields: Iterable<readonly [name: string, value: string]>) {
    const values = new Map<FieldName, string>();
    // The texts of the entries begin with the names, and a comma is less than what a name goes on with.
    for (const [name, value] of [...fields].sort()) {
      if (!checkValue(value)) this.isAscii = false;
      const known = fieldName(name);
      values.set(known, value);
      this.lines += lineOf(known, value);
    }
    this.values = values;
  }
}

const lineOf = (name: FieldName, value: string): string => `${name.written}: ${value}\r\n`;

/** The header fields of one reply: shared ones, and its own. It has the methods of Headers that replies need. */
export class ReplyFields {
  #shared: SharedFields | undefined;
  #names: FieldName[] = [];
  #values: string[] = [];
  #isAscii: boolean;

  constructor(shared: SharedFields) {
    this.#shared = shared;
    this.#isAscii = shared.isAscii;
  }

  /** Returns the same fields, to be changed. */
  copy(): ReplyFields {
    const copy = new ReplyFields(this.#shared ?? none);
    copy.#names = this.#names.slice();
    copy.#values = this.#values.slice();
    copy.#isAscii = this.#isAscii;
    return copy;
  }

  /** Whether the lines are the same bytes in every encoding. */
  get isAscii(): boolean {
    return this.#isAscii;
  }

  /** Makes all fields those of this reply, before a shared one is changed. */
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
    if (!checkValue(value)) this.#isAscii = false;
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

  [Symbol.iterator](): Iterator<[string, string]> {
    const all: [string, string][] = [];
    for (const [name, value] of this.#shared?.values ?? []) all.push([name.lowerCase, value]);
    for (const [at, name] of this.#names.entries())
      all.push([name.lowerCase, this.#values[at] ?? ""]);
    return all[Symbol.iterator]();
  }

  /** Returns whether these are the shared fields and those that are left out. */
  isOf(shared: SharedFields, leavesOut: ReadonlySet<FieldName>): boolean {
    if (this.#shared === shared) return this.#names.every((name) => leavesOut.has(name));
    let count = this.#shared?.values.size ?? 0;
    for (const [name, value] of this.#shared?.values ?? [])
      if (shared.values.get(name) !== value) return false;
    for (const [at, name] of this.#names.entries()) {
      if (leavesOut.has(name)) continue;
      if (shared.values.get(name) !== this.#values[at]) return false;
      count++;
    }
    return count === shared.values.size;
  }

  /** The lines of all fields. */
  get lines(): string {
    let text = this.#shared?.lines ?? "";
    for (let at = 0; at < this.#names.length; at++)
      text += lineOf(this.#names[at] as FieldName, this.#values[at] ?? "");
    return text;
  }
}

const none = new SharedFields([]);

export interface Reply {
  readonly status: number;
  /** The pipeline adds to them, so each reply that is sent has its own. */
  readonly fields: ReplyFields;
  readonly body: ReplyBody;
  /** Those of the state that it shows. */
  readonly validators: Validators | undefined;
  /** Undefined where it must not be repeated. */
  readonly repeat: Repeat | undefined;
}

/** Makes a reply. All have the same members, which keeps them cheap. */
export const replyOf = <Body extends ReplyBody = null>(
  status: number,
  fields: ReplyFields,
  body: Body = null as Body,
  validators?: Validators,
  repeat?: Repeat,
): Reply & { readonly body: Body } => ({ status, fields, body, validators, repeat });

/** Returns a kept reply with fields of its own, to be sent. */
export const again = ({ status, fields, body, validators, repeat }: Reply): Reply =>
  replyOf(status, fields.copy(), body, validators, repeat);

/** Ends a body that is not sent. */
export function discard({ body }: Reply): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined);
}

/** Returns the reply as an embedding program gets it. Node sends a body of unknown length in chunks, also an empty one. */
export function responseOf({ status, fields, body }: Reply): Response {
  const hasLength =
    body !== null || status === 204 || status === 304 || fields.has("content-length");
  const headers = [...fields];
  if (!hasLength) headers.push(["content-length", "0"]);
  return new Response(body, { status, headers });
}

/** Whether our HTTP/1.1 writes the reply to a request, and not the runtime of an embedding program. */
export const isWrittenHere = (request: Request): boolean => takeBody in request;
