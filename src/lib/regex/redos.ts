// Whether a pattern can run away: how the time of a backtracking engine grows with the length of a text.

import { type Alphabet, alphabetOf } from "./alphabet.ts";
import { Ambiguity } from "./ambiguity.ts";
import { automatonOf } from "./automaton.ts";
import { type Pattern, readPattern } from "./pattern.ts";

/** The time grows with the text, with its square, or faster: then it can hang the server. */
export type Growth = "linear" | "square" | "runaway";

/**
 * How bad it can get for a pattern that compiles; what cannot be judged counts as the worst. With `g`
 * or `y` it is the time of all matches in one text, whose starts are tried one after another.
 */
export function redosGrowth(source: string, flags = "u"): Growth {
  if (flags.includes("v")) return "runaway";
  const pattern = readPattern(source);
  const alphabet = alphabetOf(source, [...new Set(sourcesOf(pattern))], flags);
  const degree = degreeOf(pattern, alphabet, !flags.includes("m") && isAnchored(pattern));
  if (degree === undefined || degree > 1) return "runaway";
  return degree === 1 ? "square" : "linear";
}

function sourcesOf(pattern: Pattern): readonly string[] {
  return pattern.kind === "character" ? [pattern.source] : partsOf(pattern).flatMap(sourcesOf);
}

function partsOf(pattern: Pattern): readonly Pattern[] {
  if ("parts" in pattern) return pattern.parts;
  return "body" in pattern ? [pattern.body] : [];
}

/** Whether it can only match from the start of the text. */
function isAnchored(pattern: Pattern): boolean {
  switch (pattern.kind) {
    case "edge":
      return pattern.isStart;
    case "sequence":
      return pattern.parts[0] !== undefined && isAnchored(pattern.parts[0]);
    case "choice":
      return pattern.parts.every(isAnchored);
    default:
      return false;
  }
}

/** What repeats a few times takes some steps and no more. */
const fewTimes = 10;

const hasLoop = (pattern: Pattern): boolean =>
  (pattern.kind === "repeat" && pattern.max > fewTimes) || partsOf(pattern).some(hasLoop);

/** 0 for linear, 1 for the square and so on; undefined when it is past all bounds or not known. */
function degreeOf(pattern: Pattern, alphabet: Alphabet, isFixed: boolean): number | undefined {
  const automaton = automatonOf(pattern, alphabet, isFixed);
  const own = automaton && new Ambiguity(automaton).degree();
  let degree = own;
  for (const { body, isBehind, isOnce } of looksIn(pattern, isFixed)) {
    const inner = isBehind && hasLoop(body) ? undefined : degreeOf(body, alphabet, true);
    if (own === undefined || degree === undefined || inner === undefined) return undefined;
    // It is tried anew wherever the rest comes by, which may be as often as the rest takes steps.
    const tried = isOnce ? 0 : own + (hasLoop(body) ? 1 : 0);
    degree = Math.max(degree, inner + tried);
  }
  return degree;
}

interface Look {
  readonly body: Pattern;
  readonly isBehind: boolean;
  /** Whether it is tried at a few places only, however long the text is. */
  readonly isOnce: boolean;
}

function looksIn(pattern: Pattern, isOnce: boolean): readonly Look[] {
  if (pattern.kind === "look") return [{ ...pattern, isOnce }];
  const parts = partsOf(pattern);
  if (pattern.kind !== "sequence") {
    const isSameOnce = isOnce && pattern.kind === "choice";
    return parts.flatMap((part) => looksIn(part, isSameOnce));
  }
  // What stands before the first loop is tried at a few places only.
  const loop = parts.findIndex((part) => part.kind !== "look" && hasLoop(part));
  return parts.flatMap((part, index) => looksIn(part, isOnce && (loop < 0 || index <= loop)));
}
