// Scans a JSON text in one pass: finds what would not round-trip exactly, and the members of an object.

import { ErrorReport, type FieldError } from "./error-report.ts";
import { code, codeAt, failed, Lexer } from "./lexer.ts";
import { exactChars, isExact } from "./number.ts";

export const jsonLimits = {
  /** An object in an object has depth 2. */
  maxDepth: 64,
  /** The limit per object. */
  maxMembers: 1000,
} as const;

/** A member of the outermost object: its decoded name and its offsets in the text. */
export interface JsonMember {
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** The text of an object without errors. */
export interface ScannedObject {
  readonly text: string;
  readonly members: readonly JsonMember[];
  /** The start and end of each run of insignificant whitespace, alternating. */
  readonly gaps: readonly number[];
}

/**
 * Returns the outermost members of an object, or all errors. A syntax error or too deep a nesting ends
 * the scan, because no pointer can be given for what follows.
 */
export function scanObject(text: string): ScannedObject | readonly FieldError[] {
  const scanner = new Scanner(text);
  const start = scanner.document();
  if (start !== failed && text.charCodeAt(start) !== code.openBrace)
    return [{ pointer: "", detail: `must be a JSON object, but is ${typeAt(text, start)}` }];
  const { members, lexer, report } = scanner;
  return report === undefined ? { text, members, gaps: lexer.gaps } : report.errors;
}

/** Returns all errors of a text that may be any JSON value. */
export function scanJson(text: string): readonly FieldError[] {
  const scanner = new Scanner(text);
  scanner.document();
  return scanner.report?.errors ?? [];
}

const types: Readonly<Record<string, string>> = {
  "[": "an array",
  '"': "a string",
  t: "true",
  f: "false",
  n: "null",
};
const typeAt = (text: string, at: number): string => types[text.charAt(at)] ?? "a number";

const loneSurrogate = "a lone surrogate cannot be encoded in UTF-8";
const repeatedName = "this name appears more than once in its object";
const tooManyMembers = `more than ${jsonLimits.maxMembers} members in one object`;
const tooDeep = `nested deeper than ${jsonLimits.maxDepth} levels`;
/**
 * Assigning this member sets the prototype of an object. `constructor` and `prototype` are accepted:
 * they are ordinary words and only harmful in code that merges input into existing objects.
 */
const prototypeName = "__proto__ is not accepted as a name";
const inexactNumber = (literal: string): string =>
  `this number would be read as ${Number(literal)}; only a string keeps the exact value`;

/** Every private method takes the start of a value and returns its end, or `failed`. */
class Scanner {
  readonly lexer: Lexer;
  readonly members: JsonMember[] = [];
  /** Undefined as long as there is no error. */
  report: ErrorReport | undefined;
  private readonly text: string;
  /** The path to the current value; only its first `depth` steps are valid. */
  private readonly path: (string | number)[] = [];
  private depth = 0;

  constructor(text: string) {
    this.text = text;
    this.lexer = new Lexer(text);
  }

  private get errors(): ErrorReport {
    this.report ??= new ErrorReport();
    return this.report;
  }

  /** Scans the whole text. Returns the start of its value, or `failed`. */
  document(): number {
    const { text, lexer } = this;
    const start = lexer.skipWhitespace(0);
    const end = this.value(start);
    const rest = end === failed ? failed : lexer.skipWhitespace(end);
    if (rest !== failed && rest < text.length) lexer.fail(rest, "expected the end of the text");
    if (lexer.error !== undefined)
      this.errors.addMalformed(text, lexer.error.at, lexer.error.expected);
    return rest === text.length ? start : failed;
  }

  private value(start: number): number {
    switch (codeAt(this.text, start)) {
      case code.quote:
        return this.string(start);
      case code.openBrace:
      case code.openBracket:
        return this.container(start);
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

  private container(open: number): number {
    if (this.depth === jsonLimits.maxDepth) {
      this.addError(this.depth, tooDeep);
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

  /** Decodes and checks the name that was just read. */
  private name(start: number, end: number, names: Names): string {
    const name: string = this.lexer.hasEscape
      ? JSON.parse(this.text.slice(start, end))
      : this.text.slice(start + 1, end - 1);
    this.path[this.depth - 1] = name;
    if (this.lexer.hasLoneSurrogate) this.addError(this.depth, loneSurrogate);
    if (name === "__proto__") this.addError(this.depth, prototypeName);
    if (!names.add(name)) this.addError(this.depth, repeatedName);
    if (names.count === jsonLimits.maxMembers + 1) this.addError(this.depth - 1, tooManyMembers);
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
    if (end !== failed && this.lexer.hasLoneSurrogate) this.addError(this.depth, loneSurrogate);
    return end;
  }

  private number(start: number): number {
    const end = this.lexer.number(start);
    if (end - start <= exactChars && !this.lexer.hasExponent) return end;
    if (end !== failed && !isExact(this.text.slice(start, end)))
      this.addError(this.depth, inexactNumber(this.text.slice(start, end)));
    return end;
  }

  private addError(steps: number, detail: string): void {
    this.errors.add(this.path.slice(0, steps), detail);
  }
}

/** Up to this many names, an array is faster than a Set. Most objects have few names. */
const fewNames = 16;

/** The member names of one object. */
class Names {
  count = 0;
  private readonly few: string[] = [];
  private many: Set<string> | undefined;

  /** Whether the name is new. Beyond the limit it is not checked, because the object is rejected anyway. */
  add(name: string): boolean {
    if (++this.count > jsonLimits.maxMembers) return true;
    if (this.many?.has(name) ?? this.few.includes(name)) return false;
    if (this.few.length < fewNames) this.few.push(name);
    else this.many = (this.many ?? new Set(this.few)).add(name);
    return true;
  }
}
