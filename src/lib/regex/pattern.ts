// Regular expressions as trees: what JSON Schema calls a pattern, read after the engine found it valid.

export type Pattern =
  /** One character out of a set; the source of the set. */
  | { readonly kind: "character"; readonly source: string }
  | { readonly kind: "sequence"; readonly parts: readonly Pattern[] }
  | { readonly kind: "choice"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly body: Pattern; readonly min: number; readonly max: number }
  /** What takes no character: `^`, `$`, `\b` and `\B`. */
  | { readonly kind: "edge"; readonly isStart: boolean }
  | { readonly kind: "look"; readonly body: Pattern; readonly isBehind: boolean }
  /** What this reader does not follow: references back to a group, and flags inside. */
  | { readonly kind: "unknown" };

/** The expression that JSON Schema means: not anchored, in Unicode mode. Undefined when it is none. */
export function compilePattern(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

/** Reads a pattern that compiles. */
export const readPattern = (source: string): Pattern => new Reader(source).choice();

const groupOpenings: readonly (readonly [RegExp, (body: Pattern) => Pattern])[] = [
  [/\(\?[=!]/y, (body) => ({ kind: "look", body, isBehind: false })],
  [/\(\?<[=!]/y, (body) => ({ kind: "look", body, isBehind: true })],
  [/\(\?:|\(\?<[^>]*>|\((?!\?)/y, (body) => body],
  [/\(\?[a-z-]*:/y, () => ({ kind: "unknown" })],
];

const escaped =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[^}]*\}|u.{4}|x..|[pP]\{[^}]*\}|c.|[\s\S])/uy;
const set = /\[(?:\\[\s\S]|[^\]\\])*\]/uy;
const anyCharacter = /[\s\S]/uy;
const quantifier = /(?:[*+?]|\{(?<min>\d+)(?<rest>,(?<max>\d*))?\})\??/uy;

class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  choice(): Pattern {
    const parts = [this.#sequence()];
    while (this.#take(/\|/y) !== undefined) parts.push(this.#sequence());
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: "choice", parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source.charAt(this.#at)))
      parts.push(this.#repeated(this.#term()));
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind: "sequence", parts };
  }

  #term(): Pattern {
    if (this.#take(/\^/y) !== undefined) return { kind: "edge", isStart: true };
    if (this.#take(/\$|\\[bB]/y) !== undefined) return { kind: "edge", isStart: false };
    for (const [opening, close] of groupOpenings) {
      if (this.#take(opening) === undefined) continue;
      const body = this.choice();
      this.#at++;
      return close(body);
    }
    if (this.#take(/\\[1-9]\d*|\\k<[^>]*>/y) !== undefined) return { kind: "unknown" };
    const source = this.#take(escaped) ?? this.#take(set) ?? this.#take(anyCharacter) ?? "";
    return { kind: "character", source };
  }

  #repeated(body: Pattern): Pattern {
    quantifier.lastIndex = this.#at;
    const found = quantifier.exec(this.#source);
    if (found === null) return body;
    this.#at += found[0].length;
    const { min, rest, max } = found.groups ?? {};
    switch (found[0].charAt(0)) {
      case "*":
        return { kind: "repeat", body, min: 0, max: Number.POSITIVE_INFINITY };
      case "+":
        return { kind: "repeat", body, min: 1, max: Number.POSITIVE_INFINITY };
      case "?":
        return { kind: "repeat", body, min: 0, max: 1 };
    }
    const least = Number(min);
    const most = rest === undefined ? least : max ? Number(max) : Number.POSITIVE_INFINITY;
    return { kind: "repeat", body, min: least, max: most };
  }

  /** The text at hand that the sticky expression takes, which is passed. */
  #take(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at;
    const [taken] = expression.exec(this.#source) ?? [];
    if (taken !== undefined) this.#at += taken.length;
    return taken;
  }
}
