// Decides whether a pattern is open to ReDoS: how the matching time of a backtracking engine grows with the text.

import { type Alphabet, alphabetOf } from "./alphabet.ts";
import { Ambiguity } from "./ambiguity.ts";
import { automatonOf } from "./automaton.ts";
import { childrenOf, type PatternNode, parsePattern } from "./pattern.ts";

/** The time grows linearly, quadratically, or faster. A pattern that is `unsafe` can hang the server. */
export type Growth = "linear" | "quadratic" | "unsafe";

/**
 * The worst-case growth for a pattern that compiles. A pattern that cannot be analysed is `unsafe`. With
 * the flags `g` or `y` it is the time of all matches in one text.
 */
export function redosGrowth(source: string, flags = "u"): Growth {
  const pattern = flags.includes("v") ? undefined : parsePattern(source, flags);
  if (pattern === undefined) return "unsafe";
  const alphabet = alphabetOf(source, [...new Set(characterSetsOf(pattern))], flags);
  const isFixed = !flags.includes("m") && isAnchored(pattern);
  const degree = degreeOf(pattern.alternatives, alphabet, isFixed);
  if (degree === undefined || degree > 1) return "unsafe";
  return degree === 1 ? "quadratic" : "linear";
}

const characterTypes = ["Character", "CharacterSet", "CharacterClass"];

function characterSetsOf(node: PatternNode): readonly string[] {
  return characterTypes.includes(node.type)
    ? [node.raw]
    : childrenOf(node).flatMap(characterSetsOf);
}

/** Whether the pattern matches only at the start of the text. */
function isAnchored(node: PatternNode): boolean {
  if (node.type === "Assertion") return node.kind === "start";
  if (node.type === "Alternative")
    return node.elements[0] !== undefined && isAnchored(node.elements[0]);
  return "alternatives" in node && node.alternatives.every(isAnchored);
}

/** A repetition up to this count has a constant cost. */
const maxConstantRepeats = 10;

const hasLoop = (node: PatternNode): boolean =>
  (node.type === "Quantifier" && node.max > maxConstantRepeats) || childrenOf(node).some(hasLoop);

/** 0 is linear, 1 quadratic and so on. Returns undefined when it is exponential or unknown. */
function degreeOf(
  alternatives: readonly PatternNode[],
  alphabet: Alphabet,
  isFixed: boolean,
): number | undefined {
  const automaton = automatonOf(alternatives, alphabet, isFixed);
  const own = automaton && new Ambiguity(automaton).degree();
  let degree = own;
  for (const { body, isBehind, isOnce } of lookaroundsIn(alternatives, isFixed)) {
    const isLoop = body.some(hasLoop);
    const inner = isBehind && isLoop ? undefined : degreeOf(body, alphabet, true);
    if (own === undefined || degree === undefined || inner === undefined) return undefined;
    // A lookaround may be tried again at every step of the rest of the pattern.
    const retries = isOnce ? 0 : own + (isLoop ? 1 : 0);
    degree = Math.max(degree, inner + retries);
  }
  return degree;
}

interface Lookaround {
  readonly body: readonly PatternNode[];
  readonly isBehind: boolean;
  /** Whether it is tried at a constant number of positions, however long the text is. */
  readonly isOnce: boolean;
}

function lookaroundsIn(nodes: readonly PatternNode[], isOnce: boolean): readonly Lookaround[] {
  return nodes.flatMap((node) => {
    if (node.type === "Assertion" && "alternatives" in node)
      return [{ body: node.alternatives, isBehind: node.kind === "lookbehind", isOnce }];
    if (node.type !== "Alternative")
      return lookaroundsIn(childrenOf(node), isOnce && node.type !== "Quantifier");
    // Everything before the first loop is tried at a constant number of positions.
    const loop = node.elements.findIndex((part) => part.type !== "Assertion" && hasLoop(part));
    return node.elements.flatMap((part, index) =>
      lookaroundsIn([part], isOnce && (loop < 0 || index <= loop)),
    );
  });
}
