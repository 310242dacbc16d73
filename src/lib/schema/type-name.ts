// Makes unique type names in PascalCase.

/** `site-visits` → `SiteVisits`. */
export function typeName(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(joined) ? joined : `Type${joined}`;
}

export class TypeNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set([...taken].map(caseless));
  }

  /** Returns the preferred name, or one with a number that is free with each of the suffixes. */
  claim(preferred: string, suffixes: readonly string[] = [""]): string {
    for (let count = 1; ; count++) {
      const name = count === 1 ? preferred : `${preferred}${count}`;
      const claimed = suffixes.map((suffix) => caseless(name + suffix));
      if (claimed.some((one) => this.#taken.has(one))) continue;
      for (const one of claimed) this.#taken.add(one);
      return name;
    }
  }
}

/** Code generators change the case of names, so names must differ in more than case. */
const caseless = (name: string): string => name.toLowerCase();
