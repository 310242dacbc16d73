// Finds every regular expression in a TypeScript source, and those whose time can grow faster than their text.

import ts from "typescript";
import { redosGrowth } from "../src/lib/regex/redos.ts";

export interface FoundExpression {
  readonly line: number;
  /** The literal, or the call of RegExp, as it is written. */
  readonly text: string;
  /** Undefined for what is put together at run time. */
  readonly literal: { readonly source: string; readonly flags: string } | undefined;
}

/** Literals, and `new RegExp(…)` or `RegExp(…)`, in the order in which they stand. */
export function expressionsIn(path: string, text: string): readonly FoundExpression[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: FoundExpression[] = [];
  const add = (node: ts.Node, literal: FoundExpression["literal"]) => {
    const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    found.push({ line, text: node.getText(), literal });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) add(node, literalOf(node.text));
    else if (ts.isIdentifier(node) && node.text === "RegExp" && isCalled(node))
      add(node.parent, undefined);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function literalOf(text: string): FoundExpression["literal"] {
  const end = text.lastIndexOf("/");
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

const isCalled = (node: ts.Identifier): boolean =>
  (ts.isNewExpression(node.parent) || ts.isCallExpression(node.parent)) &&
  node.parent.expression === node;

/**
 * Expressions that are slower than linear, or made at run time, and why that does no harm. By file and
 * text, without the dollar of a placeholder; each entry must be in use.
 */
export const provedBounded: ReadonlyMap<string, string> = new Map([
  [
    'src/lib/regex/pattern.ts new RegExp(source, "u")',
    "compiles the pattern of a schema to see whether it is valid; redosGrowth analyses it next",
  ],
  [
    "src/lib/regex/alphabet.ts new RegExp(`^(?:{source})$`, setFlags)",
    "tries one set of characters on one character",
  ],
  [
    "src/lib/regex/alphabet.ts new RegExp(`(?:{source})+`, `g{flags}`)",
    "finds the runs of one set of characters, which is linear",
  ],
  [
    'src/lib/schema/explain.ts new RegExp(pattern, "u")',
    "is a pattern of a definition, which redosGrowth accepted",
  ],
  [
    'src/lib/schema/example.ts new RegExp(pattern, "u")',
    "is a pattern of a definition, which redosGrowth accepted, on constant texts",
  ],
  [
    'src/http/openapi/collections.ts new RegExp(`"{componentPath}([^"]+)"`, "g")',
    "is put together from a constant, and linear: what follows a match's start has no other start",
  ],
]);

/** The name of an expression among those that are proved to be bounded. */
export const nameOf = (path: string, text: string): string =>
  `${path} ${text.replaceAll("${", "{")}`;

/** Why an expression may not stand in a file; undefined when it may. */
export function complaintOf(path: string, { text, literal }: FoundExpression): string | undefined {
  if (provedBounded.has(nameOf(path, text))) return undefined;
  if (literal === undefined) return `makes a regular expression at run time: ${text}`;
  const growth = redosGrowth(literal.source, literal.flags);
  return growth === "linear" ? undefined : `holds a regular expression that is ${growth}: ${text}`;
}
