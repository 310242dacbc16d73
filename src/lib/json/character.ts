// The characters of the JSON grammar as UTF-16 code units.

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

export const isDigit = (unit: number): boolean => unit >= code.zero && unit <= code.nine;

export const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

export const isPair = (first: number, second: number): boolean =>
  first >= 0xd800 && first <= 0xdbff && second >= 0xdc00 && second <= 0xdfff;

/** Maps `E` to `e`. No other character becomes a letter. */
export const lowerCase = (unit: number): number => unit | 0x20;

/** The value of four hexadecimal digits, or -1 when they are not hexadecimal. */
export function hexAt(text: string, start: number): number {
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
