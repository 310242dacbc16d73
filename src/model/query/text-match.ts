// Compares texts for the operators that a range of keys cannot express.

import { likeMatcher, type Matcher, searchFor } from "./like.ts";
import type { TextOperator } from "./operators.ts";

export interface TextMatch {
  readonly operator: TextOperator;
  readonly text: string;
}

export function matcherOf({ operator, text }: TextMatch): Matcher {
  switch (operator) {
    case "like":
      return likeMatcher(text);
    case "startsWith":
      return (given) => given.startsWith(text);
    case "contains":
      return containing(text);
    case "icontains": {
      const contains = containing(foldCase(text));
      return (given) => contains(foldCase(given));
    }
    case "ieq": {
      const folded = foldCase(text);
      return (given) => foldCase(given) === folded;
    }
  }
}

function containing(text: string): Matcher {
  const search = searchFor(text);
  return (given) => search(given, 0) >= 0;
}

/**
 * Makes texts equal that differ in case only, by Unicode's default mappings: ß equals SS, and each
 * letter is folded alike wherever it stands. Accents count.
 */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase();
