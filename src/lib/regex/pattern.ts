// Parses a regular expression that compiles into a tree.

export type Pattern =
  /** One character of a set, with the source of the set. */
  | { readonly kind: "character"; readonly source: string }
  | { readonly kind: "sequence"; readonly parts: readonly Pattern[] }
  | { readonly kind: "alternation"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly body: Pattern; readonly min: number; readonly max: number }
  /** `^`, `$`, `\b` and `\B`, which match no character. */
  | { readonly kind: "anchor"; readonly isStart: boolean }
  | { readonly kind: "lookaround"; readonly body: Pattern; readonly isBehind: boolean }
  /** Parts that are not analysed: backreferences and inline flags. */
  | { readonly kind: "unknown" };

/** Compiles a JSON Schema pattern: not anchored, in Unicode mode. Returns undefined when it is invalid. */
export function compilePattern(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

/** Parses a pattern that compiles. */
export const readPattern = (source: string): Pattern => new Parser(source).alternation();

const groupOpenings: readonly (readonly [RegExp, (body: Pattern) => Pattern])[] = [
  [/\(\?[=!]/y, (body) => ({ kind: "lookaround", body, isBehind: false })],
  [/\(\?<[=!]/y, (body) => ({ kind: "lookaround", body, isBehind: true })],
  [/\(\?:|\(\?<[^>]*>|\((?!\?)/y, (body) => body],
  [/\(\?[a-z-]*:/y, () => ({ kind: "unknown" })],
];

const escaped =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[^}]*\}|u.{4}|x..|[pP]\{[^}]*\}|c.|[\s\S])/uy;
const set = /\[(?:\\[\s\S]|[^\]\\])*\]/uy;
const anyCharacter = /[\s\S]/uy;
const quantifier = /(?:[*+?]|\{(?<min>\d+)(?<rest>,(?<max>\d*))?\})\??/uy;

class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  alternation(): Pattern {
    const parts = [this.#sequence()];
    while (this.#take(/\|/y) !== undefined) parts.push(this.#sequence());
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: "alternation", parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source.charAt(this.#at)))
      parts.push(this.#repeated(this.#term()));
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: "sequence", parts };
  }

  #term(): Pattern {
    if (this.#take(/\^/y) !== undefined) return { kind: "anchor", isStart: true };
    if (this.#take(/\$|\\[bB]/y) !== undefined) return { kind: "anchor", isStart: false };
    for (const [opening, close] of groupOpenings) {
      if (this.#take(opening) === undefined) continue;
      const body = this.alternation();
      this.#at++;
      return close(body);
    }
    if (this.#take(/\\[1-9]\d*|\\k<[^>]*>/y) !== undefined) return { kind: "unknown" };
    const source = this.#take(escaped) ?? this.#take(set) ?? this.#take(anyCharacter) ?? "";
    return { kind: "character", source };
  }

  #repeated(body: Pattern): Pattern {
    quantifier.lastIndex = this.#at;
    const match = quantifier.exec(this.#source);
    if (match === null) return body;
    this.#at += match[0].length;
    const { min, rest, max } = match.groups ?? {};
    switch (match[0].charAt(0)) {
      case "*":
        return { kind: "repeat", body, min: 0, max: Number.POSITIVE_INFINITY };
      case "+":
        return { kind: "repeat", body, min: 1, max: Number.POSITIVE_INFINITY };
      case "?":
        return { kind: "repeat", body, min: 0, max: 1 };
    }
    const minimum = Number(min);
    const maximum = rest === undefined ? minimum : max ? Number(max) : Number.POSITIVE_INFINITY;
    return { kind: "repeat", body, min: minimum, max: maximum };
  }

  /** Consumes and returns the text that the sticky expression matches here. */
  #take(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    const [taken] = expression.exec(this.#source) ?? [];
    if (taken !== undefined) this.#at += taken.length;
    return taken;
  }
}
