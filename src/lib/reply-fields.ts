// Header fields of replies. Those that many replies share are written as lines once.

import { checkValue, type FieldName, fieldName } from "./field-lines.ts";

/** Header fields that many replies share, in the order of their names. */
export class SharedFields {
  readonly values: ReadonlyMap<FieldName, string>;
  /** The lines of a message. */
  readonly lines: string;
  readonly isAscii: boolean;

  /** Throws if a value has a character that no field may have. */
  constructor(fields: Iterable<readonly [name: string, value: string]>) {
    const named = [...fields].map(([name, value]) => [fieldName(name), value] as const);
    const sorted = named.sort(([{ lowerCase: one }], [{ lowerCase: other }]) =>
      one < other ? -1 : 1,
    );
    this.values = new Map(sorted);
    this.lines = sorted.map(([name, value]) => lineOf(name, value)).join("");
    this.isAscii = sorted.every(([, value]) => checkValue(value));
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

  *[Symbol.iterator](): Generator<[string, string]> {
    for (const [name, value] of this.#shared?.values ?? []) yield [name.lowerCase, value];
    for (const [at, name] of this.#names.entries()) yield [name.lowerCase, this.#values[at] ?? ""];
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
