// The operator `like`: whether a text fits a pattern in which `*` stands for any characters.

/** Up to this length the engine's own search takes time that grows with the text alone. */
const maxShort = 32;

export type Matcher = (text: string) => boolean;

/**
 * Makes a matcher of a pattern. Each piece between two `*` is taken at the first place where it is
 * found, so nothing is ever tried again, and the time grows with the text and the pattern.
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

/** Finds a piece from an index on; returns the index behind it, or -1. */
type Search = (text: string, from: number) => number;

function searchFor(piece: string): Search {
  if (piece.length > maxShort) return linearSearch(piece);
  return (text, from) => {
    const found = text.indexOf(piece, from);
    return found < 0 ? -1 : found + piece.length;
  };
}

/** The search of Knuth, Morris and Pratt: `indexOf` takes time that grows with the product of both. */
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

/** For each beginning of a piece the length of its longest border: what it both begins and ends with. */
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
