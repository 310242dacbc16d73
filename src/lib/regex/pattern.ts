// Compiles and parses regular expressions.

import { type AST, RegExpParser } from "@eslint-community/regexpp";

/** A node of a syntax tree, down to single characters and sets of characters. */
export type PatternNode = AST.Pattern | AST.Alternative | AST.Element;

/** Compiles a JSON Schema pattern: not anchored, in Unicode mode. Returns undefined when it is invalid. */
export function compilePattern(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

const parser = new RegExpParser();

/** Parses a pattern that compiles. Returns undefined when it has syntax that the parser does not know. */
export function parsePattern(source: string, flags = "u"): AST.Pattern | undefined {
  try {
    return parser.parsePattern(source, 0, source.length, { unicode: flags.includes("u") });
  } catch {
    return undefined;
  }
}

/** The children of a node. A character or a set of characters has none. */
export function childrenOf(node: PatternNode): readonly PatternNode[] {
  if ("alternatives" in node) return node.alternatives;
  if (node.type === "Alternative") return node.elements;
  return node.type === "Quantifier" ? [node.element] : [];
}
