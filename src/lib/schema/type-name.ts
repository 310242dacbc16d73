// Names of types: the words of a name joined, each with a capital, and no two alike.

/** `site-visits` → `SiteVisits`. */
export function typeName(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(joined) ? joined : `Type${joined}`;
}

export class TypeNames {
  readonly #taken: Set<string>;

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set([...taken].map(plain));
  }

  /** The wished name, or one with a number behind it, which is free with each of the endings. */
  claim(wish: string, endings: readonly string[] = [""]): string {
    for (let count = 1; ; count++) {
      const name = count === 1 ? wish : `${wish}${count}`;
      const claimed = endings.map((ending) => plain(name + ending));
      if (claimed.some((one) => this.#taken.has(one))) continue;
      for (const one of claimed) this.#taken.add(one);
      return name;
    }
  }
}

/** Generators change the case of names, so that alone does not tell two apart. */
const plain = (name: string): string => name.toLowerCase();
