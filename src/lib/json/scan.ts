// Strict JSON: one pass over a text that refuses what would not come back exactly as it was sent.

import { code, codeAt } from "./character.ts";
import type { FieldError } from "./error-report.ts";
import { ErrorReport } from "./error-report.ts";
import { failed, Lexer } from "./lexer.ts";
import { exactChars, isExact } from "./number.ts";

export const jsonLimits = {
  /** An object in an object is 2 deep. */
  maxDepth: 64,
  /** In one object. */
  maxMembers: 1000,
} as const;

/** A member of the outermost object: its decoded name, and where it stands in the text. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** The text of an object without a fault. */
export interface ScannedObject {
  readonly text: string;
  readonly members: readonly Member[];
  /** Where each run of insignificant whitespace starts and ends, in turn. */
  readonly gaps: readonly number[];
}

/**
 * The outermost members of an object, or every fault at once. Broken grammar and too deep a nest end
 * the scan, because what follows has no place to point to.
 */
export function scanObject(text: string): ScannedObject | readonly FieldError[] {
  const scanner = new Scanner(text);
  const start = scanner.document();
  if (start !== failed && text.charCodeAt(start) !== code.openBrace)
    return [{ pointer: "", detail: `a JSON object is needed, but this is ${kindAt(text, start)}` }];
  const { members, lexer, report } = scanner;
  return report.errors.length > 0 ? report.errors : { text, members, gaps: lexer.gaps };
}

/** Every fault of a text that may be any JSON value. */
export function scanJson(text: string): readonly FieldError[] {
  const scanner = new Scanner(text);
  scanner.document();
  return scanner.report.errors;
}

const kinds: Readonly<Record<string, string>> = {
  "[": "an array",
  '"': "a string",
  t: "true",
  f: "false",
  n: "null",
};
const kindAt = (text: string, at: number): string => kinds[text.charAt(at)] ?? "a number";

const loneSurrogate = "half of a surrogate pair stands alone, which UTF-8 cannot carry";
const repeatedName = "this name appears more than once in its object";
const manyMembers = `more than ${jsonLimits.maxMembers} members in one object`;
const deepNest = `nested deeper than ${jsonLimits.maxDepth} levels`;
/**
 * Copied by assignment, this member becomes a prototype. `constructor` and `prototype` are accepted:
 * they are ordinary words, and harm only where input is merged into live objects, which is nowhere.
 */
const prototypeName = "__proto__ is not accepted as a name";
const inexactNumber = (literal: string): string =>
  `this number would be read as ${Number(literal)}; send it as a string to keep it as it is`;

/** Every private reader takes where its part starts and returns where it ends, or `stop`. */
class Scanner {
  readonly lexer: Lexer;
  readonly members: Member[] = [];
  readonly report = new ErrorReport();
  private readonly text: string;
  /** The way to the value at hand; its first `depth` steps count. */
  private readonly path: (string | number)[] = [];
  private depth = 0;

  constructor(text: string) {
    this.text = text;
    this.lexer = new Lexer(text);
  }

  /** Reads the whole text; returns where its value starts, or `stop`. */
  document(): number {
    const { text, lexer } = this;
    const start = lexer.skipWhitespace(0);
    const end = this.value(start);
    const rest = end === failed ? failed : lexer.skipWhitespace(end);
    if (rest !== failed && rest < text.length) lexer.fail(rest, "expected nothing more");
    if (lexer.error !== undefined)
      this.report.addMalformed(text, lexer.error.at, lexer.error.expected);
    return rest === text.length ? start : failed;
  }

  private value(start: number): number {
    switch (codeAt(this.text, start)) {
      case code.quote:
        return this.string(start);
      case code.openBrace:
      case code.openBracket:
        return this.nest(start);
      case code.t:
        return this.lexer.literal(start, "true");
      case code.f:
        return this.lexer.literal(start, "false");
      case code.n:
        return this.lexer.literal(start, "null");
      default:
        return this.number(start);
    }
  }

  private nest(open: number): number {
    if (this.depth === jsonLimits.maxDepth) {
      this.fault(this.depth, deepNest);
      return failed;
    }
    this.depth++;
    const first = this.lexer.skipWhitespace(open + 1);
    const isObject = codeAt(this.text, open) === code.openBrace;
    const end = isObject ? this.object(first) : this.array(first);
    this.depth--;
    return end;
  }

  private object(first: number): number {
    const { text, lexer } = this;
    if (codeAt(text, first) === code.closeBrace) return first + 1;
    const names = new Names();
    let start = first;
    for (;;) {
      const end = this.member(start, names);
      if (end === failed) return failed;
      const next = lexer.skipWhitespace(end);
      const unit = codeAt(text, next);
      if (unit === code.closeBrace) return next + 1;
      if (unit !== code.comma) return lexer.fail(next, 'expected a comma or "}"');
      start = lexer.skipWhitespace(next + 1);
    }
  }

  private member(start: number, names: Names): number {
    const { text, lexer } = this;
    if (codeAt(text, start) !== code.quote)
      return lexer.fail(start, "expected a member name in double quotes");
    const nameEnd = lexer.string(start);
    if (nameEnd === failed) return failed;
    const name = this.name(start, nameEnd, names);
    const separator = lexer.skipWhitespace(nameEnd);
    if (codeAt(text, separator) !== code.colon) return lexer.fail(separator, "expected a colon");
    const valueStart = lexer.skipWhitespace(separator + 1);
    const end = this.value(valueStart);
    if (this.depth === 1) this.members.push({ name, start, valueStart, end });
    return end;
  }

  /** Decodes and judges the name that was just read. */
  private name(start: number, end: number, names: Names): string {
    const name: string = this.lexer.hasEscape
      ? JSON.parse(this.text.slice(start, end))
      : this.text.slice(start + 1, end - 1);
    this.path[this.depth - 1] = name;
    if (this.lexer.hasLoneSurrogate) this.fault(this.depth, loneSurrogate);
    if (name === "__proto__") this.fault(this.depth, prototypeName);
    if (!names.add(name)) this.fault(this.depth, repeatedName);
    if (names.count === jsonLimits.maxMembers + 1) this.fault(this.depth - 1, manyMembers);
    return name;
  }

  private array(first: number): number {
    const { text, lexer } = this;
    if (codeAt(text, first) === code.closeBracket) return first + 1;
    let start = first;
    for (let index = 0; ; index++) {
      this.path[this.depth - 1] = index;
      const end = this.value(start);
      if (end === failed) return failed;
      const next = lexer.skipWhitespace(end);
      const unit = codeAt(text, next);
      if (unit === code.closeBracket) return next + 1;
      if (unit !== code.comma) return lexer.fail(next, 'expected a comma or "]"');
      start = lexer.skipWhitespace(next + 1);
    }
  }

  private string(start: number): number {
    const end = this.lexer.string(start);
    if (end !== failed && this.lexer.hasLoneSurrogate) this.fault(this.depth, loneSurrogate);
    return end;
  }

  private number(start: number): number {
    const end = this.lexer.number(start);
    if (end - start <= exactChars && !this.lexer.hasExponent) return end;
    if (end !== failed && !isExact(this.text.slice(start, end)))
      this.fault(this.depth, inexactNumber(this.text.slice(start, end)));
    return end;
  }

  private fault(steps: number, detail: string): void {
    this.report.add(this.path.slice(0, steps), detail);
  }
}

/** Looking through a few names is quicker than making a Set, and most objects have few. */
const fewNames = 16;

/** The names met in one object. */
class Names {
  count = 0;
  private readonly few: string[] = [];
  private many: Set<string> | undefined;

  /** Whether the name is new; past the limit nobody asks, because the object is refused anyhow. */
  add(name: string): boolean {
    if (++this.count > jsonLimits.maxMembers) return true;
    if (this.many?.has(name) ?? this.few.includes(name)) return false;
    if (this.few.length < fewNames) this.few.push(name);
    else this.many = (this.many ?? new Set(this.few)).add(name);
    return true;
  }
}
