// Decides whether a pattern is open to ReDoS: how the matching time of a backtracking engine grows with the text.

import { type Alphabet, alphabetOf } from "./alphabet.ts";
import { Ambiguity } from "./ambiguity.ts";
import { automatonOf } from "./automaton.ts";
import { type Pattern, readPattern } from "./pattern.ts";

/** The time grows linearly, quadratically, or faster. A pattern that is `unsafe` can hang the server. */
export type Growth = "linear" | "quadratic" | "unsafe";

/**
 * The worst-case growth for a pattern that compiles. A pattern that cannot be analysed is `unsafe`. With
 * the flags `g` or `y` it is the time of all matches in one text.
 */
export function redosGrowth(source: string, flags = "u"): Growth {
  if (flags.includes("v")) return "unsafe";
  const pattern = readPattern(source);
  const alphabet = alphabetOf(source, [...new Set(sourcesOf(pattern))], flags);
  const degree = degreeOf(pattern, alphabet, !flags.includes("m") && isAnchored(pattern));
  if (degree === undefined || degree > 1) return "unsafe";
  return degree === 1 ? "quadratic" : "linear";
}

function sourcesOf(pattern: Pattern): readonly string[] {
  return pattern.kind === "character" ? [pattern.source] : partsOf(pattern).flatMap(sourcesOf);
}

function partsOf(pattern: Pattern): readonly Pattern[] {
  if ("parts" in pattern) return pattern.parts;
  return "body" in pattern ? [pattern.body] : [];
}

/** Whether the pattern matches only at the start of the text. */
function isAnchored(pattern: Pattern): boolean {
  switch (pattern.kind) {
    case "anchor":
      return pattern.isStart;
    case "sequence":
      return pattern.parts[0] !== undefined && isAnchored(pattern.parts[0]);
    case "alternation":
      return pattern.parts.every(isAnchored);
    default:
      return false;
  }
}

/** A repetition up to this count has a constant cost. */
const maxConstantRepeats = 10;

const hasLoop = (pattern: Pattern): boolean =>
  (pattern.kind === "repeat" && pattern.max > maxConstantRepeats) || partsOf(pattern).some(hasLoop);

/** 0 is linear, 1 quadratic and so on. Returns undefined when it is exponential or unknown. */
function degreeOf(pattern: Pattern, alphabet: Alphabet, isFixed: boolean): number | undefined {
  const automaton = automatonOf(pattern, alphabet, isFixed);
  const own = automaton && new Ambiguity(automaton).degree();
  let degree = own;
  for (const { body, isBehind, isOnce } of lookaroundsIn(pattern, isFixed)) {
    const inner = isBehind && hasLoop(body) ? undefined : degreeOf(body, alphabet, true);
    if (own === undefined || degree === undefined || inner === undefined) return undefined;
    // A lookaround may be tried again at every step of the rest of the pattern.
    const retries = isOnce ? 0 : own + (hasLoop(body) ? 1 : 0);
    degree = Math.max(degree, inner + retries);
  }
  return degree;
}

interface Lookaround {
  readonly body: Pattern;
  readonly isBehind: boolean;
  /** Whether it is tried at a constant number of positions, however long the text is. */
  readonly isOnce: boolean;
}

function lookaroundsIn(pattern: Pattern, isOnce: boolean): readonly Lookaround[] {
  if (pattern.kind === "lookaround") return [{ ...pattern, isOnce }];
  const parts = partsOf(pattern);
  if (pattern.kind !== "sequence") {
    const isSameOnce = isOnce && pattern.kind === "alternation";
    return parts.flatMap((part) => lookaroundsIn(part, isSameOnce));
  }
  // Everything before the first loop is tried at a constant number of positions.
  const loop = parts.findIndex((part) => part.kind !== "lookaround" && hasLoop(part));
  return parts.flatMap((part, index) => lookaroundsIn(part, isOnce && (loop < 0 || index <= loop)));
}
