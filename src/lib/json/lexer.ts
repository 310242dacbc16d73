// Reads single tokens of a JSON text (RFC 8259) and returns where each one ends.

/** The characters of the JSON grammar as UTF-16 code units. */
export const code = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  a: 0x61,
  e: 0x65,
  f: 0x66,
  n: 0x6e,
  t: 0x74,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const;

/** Returns -1 past the end, because NaN would slow down every loop that calls it. */
export const codeAt = (text: string, at: number): number =>
  at < text.length ? text.charCodeAt(at) : -1;

export const isSpace = (unit: number): boolean =>
  unit === code.space ||
  unit === code.lineFeed ||
  unit === code.carriageReturn ||
  unit === code.tab;

const isDigit = (unit: number): boolean => unit >= code.zero && unit <= code.nine;

export const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

const isPair = (first: number, second: number): boolean =>
  first >= 0xd800 && first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;

/** Maps `E` to `e`. No other character becomes a letter. */
export const lowerCase = (unit: number): number => unit | 0x20;

/** The value of four hexadecimal digits, or -1 when they are not hexadecimal. */
function hexAt(text: string, start: number): number {
  let value = 0;
  for (let at = start; at < start + 4; at++) {
    const unit = codeAt(text, at);
    const letter = lowerCase(unit);
    if (isDigit(unit)) value = value * 16 + unit - code.zero;
    else if (letter >= code.a && letter <= code.f) value = value * 16 + letter - code.a + 10;
    else return -1;
  }
  return value;
}

/** The result of a read that found a syntax error. */
export const failed = -1;

/** Every method takes the start of a token and returns its end, or `failed`. */
export class Lexer {
  readonly text: string;
  /** The start and end of each run of whitespace, alternating. */
  readonly gaps: number[] = [];
  /** The first syntax error. */
  error: { readonly at: number; readonly expected: string } | undefined;
  /** Whether the last string has an escape. */
  hasEscape = false;
  /** Whether the last string has a lone surrogate, raw or escaped. */
  hasLoneSurrogate = false;
  /** Whether the last number has an exponent. */
  hasExponent = false;

  constructor(text: string) {
    this.text = text;
  }

  fail(at: number, expected: string): typeof failed {
    this.error = { at, expected };
    return failed;
  }

  skipWhitespace(start: number): number {
    const { text } = this;
    if (codeAt(text, start) > code.space) return start;
    let end = start;
    while (isSpace(codeAt(text, end))) end++;
    if (end > start) this.gaps.push(start, end);
    return end;
  }

  literal(start: number, word: "true" | "false" | "null"): number {
    const isPresent = this.text.startsWith(word, start);
    return isPresent ? start + word.length : this.fail(start, "expected a value");
  }

  string(start: number): number {
    const { text } = this;
    this.hasEscape = false;
    this.hasLoneSurrogate = false;
    let at = start + 1;
    while (at < text.length) {
      const unit = text.charCodeAt(at);
      if (unit === code.quote) return at + 1;
      if (unit === code.backslash) {
        at = this.escape(at);
        if (at === failed) return failed;
      } else if (unit < code.space) {
        return this.fail(at, "a control character in a string must be escaped");
      } else if (isSurrogate(unit)) {
        at += this.pair(unit, codeAt(text, at + 1)) ? 2 : 1;
      } else {
        at++;
      }
    }
    return this.fail(at, "expected a closing quote");
  }

  private escape(start: number): number {
    const { text } = this;
    this.hasEscape = true;
    const letter = text.charAt(start + 1);
    if (letter !== "u") {
      const isKnown = letter !== "" && '"\\/bfnrt'.includes(letter);
      return isKnown ? start + 2 : this.fail(start, "unknown escape");
    }
    const unit = hexAt(text, start + 2);
    if (unit < 0) return this.fail(start, "expected four hexadecimal digits after \\u");
    if (!isSurrogate(unit)) return start + 6;
    const next = text.startsWith("\\u", start + 6) ? hexAt(text, start + 8) : -1;
    return start + (this.pair(unit, next) ? 12 : 6);
  }

  /** A raw surrogate next to an escaped one is not a pair, because the raw one is not valid UTF-8. */
  private pair(first: number, second: number): boolean {
    if (isPair(first, second)) return true;
    this.hasLoneSurrogate = true;
    return false;
  }

  number(start: number): number {
    const { text } = this;
    this.hasExponent = false;
    const whole = codeAt(text, start) === code.minus ? start + 1 : start;
    if (whole === start && !isDigit(codeAt(text, start)))
      return this.fail(start, "expected a value");
    let end = this.digits(whole);
    if (codeAt(text, whole) === code.zero && end > whole + 1)
      return this.fail(whole, "a number must not have a leading zero");
    if (end !== failed && codeAt(text, end) === code.point) end = this.digits(end + 1);
    if (end !== failed && lowerCase(codeAt(text, end)) === code.e) end = this.exponent(end + 1);
    return end;
  }

  private exponent(start: number): number {
    this.hasExponent = true;
    const sign = codeAt(this.text, start);
    return this.digits(sign === code.plus || sign === code.minus ? start + 1 : start);
  }

  private digits(start: number): number {
    let end = start;
    while (isDigit(codeAt(this.text, end))) end++;
    return end > start ? end : this.fail(start, "expected a digit");
  }
}
