// Adds up JSON numbers exactly: a million times 0.1 is 100000.

import { addDecimals, type Decimal, parseDecimal, printDecimal } from "./decimal.ts";

/** A sum of integers beyond this may not be exact as a double. */
const maxSmall = 2 ** 52;
/** Every number with fewer digits has one shortest decimal form, which is the one it was written in. */
const maxExactDigits = 15;
const maxExactWhole = 10 ** maxExactDigits - 1;
/** More decimals than this are rare. */
const maxDecimals = 6;

/** A sum of whole numbers times a power of ten. */
interface Digits {
  small: number;
  big: bigint;
}

export class ExactSum {
  /** By the exponent of ten. Prices have one or two of them. */
  readonly #byExponent = new Map<number, Digits>();
  #count = 0;
  /** The most decimals of a number so far, up to a limit. */
  #decimals = 0;
  #scale = 1;
  /** Those of numbers with so many decimals. */
  #scaled = this.#digitsOf(0);

  get count(): number {
    return this.#count;
  }

  /** `literal` is the number as it was written, if it has more digits than a double. */
  add(value: number, literal?: string): void {
    this.#count++;
    const whole = Math.round(value * this.#scale);
    // Of all decimals with so few digits, no two have the same double.
    const isScaled = whole / this.#scale === value && Math.abs(whole) <= maxExactWhole;
    if (literal !== undefined) this.#addDecimal(parseDecimal(literal));
    else if (isScaled) addTo(this.#scaled, whole);
    else if (Number.isSafeInteger(value)) addTo(this.#digitsOf(0), value);
    else this.#addText(String(value));
  }

  get total(): Decimal {
    let total: Decimal = { digits: 0n, exponent: 0 };
    for (const [exponent, { small, big }] of this.#byExponent)
      total = addDecimals(total, { digits: big + BigInt(small), exponent });
    return total;
  }

  #addText(text: string): void {
    const point = text.indexOf(".");
    if (point < 0 || text.length > maxExactDigits + 2 || text.includes("e"))
      this.#addDecimal(parseDecimal(text));
    else {
      const decimals = text.length - point - 1;
      const digits = this.#digitsOf(-decimals);
      addTo(digits, Number(text.slice(0, point) + text.slice(point + 1)));
      if (decimals > maxDecimals || decimals <= this.#decimals) return;
      this.#decimals = decimals;
      this.#scale = 10 ** decimals;
      this.#scaled = digits;
    }
  }

  #addDecimal({ digits, exponent }: Decimal): void {
    this.#digitsOf(exponent).big += digits;
  }

  #digitsOf(exponent: number): Digits {
    const known = this.#byExponent.get(exponent);
    if (known !== undefined) return known;
    const digits = { small: 0, big: 0n };
    this.#byExponent.set(exponent, digits);
    return digits;
  }
}

function addTo(digits: Digits, whole: number): void {
  const small = digits.small + whole;
  if (Math.abs(small) <= maxSmall) digits.small = small;
  else {
    digits.big += BigInt(digits.small) + BigInt(whole);
    digits.small = 0;
  }
}

/** How many significant digits a quotient has, as in decimal128. */
const quotientDigits = 34;

/** Returns the quotient as a JSON number, rounded half to even. */
export function divide({ digits, exponent }: Decimal, by: number): string {
  if (digits === 0n) return "0";
  const divisor = BigInt(by);
  const length = String(digits < 0n ? -digits : digits).length;
  // One digit more than needed, and the remainder, decide the rounding.
  const shift = Math.max(0, quotientDigits + String(by).length - length + 1);
  const scaled = digits * 10n ** BigInt(shift);
  const quotient = scaled / divisor;
  const isExact = quotient * divisor === scaled;
  return printDecimal(rounded({ digits: quotient, exponent: exponent - shift }, isExact));
}

function rounded({ digits, exponent }: Decimal, isExact: boolean): Decimal {
  const magnitude = digits < 0n ? -digits : digits;
  const excess = String(magnitude).length - quotientDigits;
  if (excess <= 0) return { digits, exponent };
  const unit = 10n ** BigInt(excess);
  const [whole, rest] = [magnitude / unit, magnitude % unit];
  const half = unit / 2n;
  const isUp = rest > half || (rest === half && (!isExact || whole % 2n === 1n));
  const result = isUp ? whole + 1n : whole;
  return { digits: digits < 0n ? -result : result, exponent: exponent + excess };
}
