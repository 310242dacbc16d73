// Finds the regular expressions in a TypeScript source whose time grows faster than the length of the text.

import ts from "typescript";
import { redosGrowth } from "../src/lib/regex/redos.ts";

export interface FoundExpression {
  readonly line: number;
  /** The literal, or the call of RegExp, as it is written. */
  readonly text: string;
  /** Undefined when it is built at run time. */
  readonly literal: { readonly source: string; readonly flags: string } | undefined;
}

/**
 * What a literal or a call of RegExp begins with: a slash after a punctuation mark, a keyword or a comment.
 * Most sources have none, and need not be parsed. A long run shows that none is missed.
 */
const start =
  /RegExp|(?:^|[^\s\w.*"'`$\]/]|\*\/|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|new|instanceof|await|yield))\s*\/(?![/*])/m;

/** Literals, and `new RegExp(…)` or `RegExp(…)`, in their order. */
export const expressionsIn = (path: string, text: string): readonly FoundExpression[] =>
  start.test(text) ? parsedExpressions(path, text) : [];

/** The same, of a source that is parsed in any case. */
export function parsedExpressions(path: string, text: string): readonly FoundExpression[] {
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
 * Expressions that are slower than linear, or built at run time, and why that is safe. By file and text,
 * without the dollar of a placeholder. Each entry must be in use.
 */
export const provedBounded: ReadonlyMap<string, string> = new Map([
  [
    'src/lib/regex/pattern.ts new RegExp(source, "u")',
    "compiles the pattern of a schema to see whether it is valid; redosGrowth analyses it next",
  ],
  [
    "src/lib/regex/alphabet.ts new RegExp(`^(?:{source})$`, setFlags)",
    "tests one character against one set of characters",
  ],
  [
    "src/lib/regex/properties.ts new RegExp(`(?:{source})+`, `g{flags}`)",
    "finds the runs of one set of characters, which is linear",
  ],
  [
    'src/lib/schema/explain.ts new RegExp(pattern, "u")',
    "is a pattern of a definition, which redosGrowth accepted",
  ],
  [
    'src/lib/schema/unevaluated.ts new RegExp(pattern, "u")',
    "is a pattern of a definition, which redosGrowth accepted",
  ],
  [
    'src/lib/schema/example.ts new RegExp(pattern, "u")',
    "is a pattern of a definition, which redosGrowth accepted, on constant texts",
  ],
]);

/** The key of an expression in `provedBounded`. */
export const nameOf = (path: string, text: string): string =>
  `${path} ${text.replaceAll("${", "{")}`;

/** Why an expression is not allowed in a file; undefined when it is allowed. */
export function violationOf(path: string, { text, literal }: FoundExpression): string | undefined {
  if (provedBounded.has(nameOf(path, text))) return undefined;
  if (literal === undefined) return `builds a regular expression at run time: ${text}`;
  const growth = redosGrowth(literal.source, literal.flags);
  return growth === "linear"
    ? undefined
    : `contains a regular expression that is ${growth}: ${text}`;
}
