// Matches texts against the pattern of the operator `like`, in which `*` stands for any characters.

/** Up to this length `indexOf` takes linear time. */
const maxShort = 32;

export type Matcher = (text: string) => boolean;

/**
 * Compiles a pattern. Each piece between two `*` is matched at its first occurrence without
 * backtracking, so the time is linear in the text and the pattern.
 */
export function likeMatcher(pattern: string): Matcher {
  const [start = "", ...pieces] = pattern.split("*");
  const end = pieces.pop();
  if (end === undefined) return (text) => text === pattern;
  const searches = pieces.filter((piece) => piece !== "").map(searchFor);
  return (text) => {
    if (!text.startsWith(start) || !text.endsWith(end)) return false;
    let index = start.length;
    for (const search of searches) {
      index = search(text, index);
      if (index < 0) return false;
    }
    return index <= text.length - end.length;
  };
}

/** Searches from an index. Returns the index after the match, or -1. */
export type Search = (text: string, from: number) => number;

/** A search that takes linear time. */
export function searchFor(piece: string): Search {
  if (piece.length > maxShort) return linearSearch(piece);
  return (text, from) => {
    const index = text.indexOf(piece, from);
    return index < 0 ? -1 : index + piece.length;
  };
}

/** The Knuth-Morris-Pratt search. `indexOf` takes time proportional to the product of both lengths. */
function linearSearch(piece: string): Search {
  const borders = bordersOf(piece);
  return (text, from) => {
    let matched = 0;
    for (let at = from; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      while (matched > 0 && piece.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
      if (piece.charCodeAt(matched) === unit) matched++;
      if (matched === piece.length) return at + 1;
    }
    return -1;
  };
}

/** For each prefix of a piece the length of its longest border, a proper prefix that is also a suffix. */
function bordersOf(piece: string): Uint32Array {
  const borders = new Uint32Array(piece.length);
  let length = 0;
  for (let at = 1; at < piece.length; at++) {
    const unit = piece.charCodeAt(at);
    while (length > 0 && piece.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0;
    if (piece.charCodeAt(length) === unit) length++;
    borders[at] = length;
  }
  return borders;
}
