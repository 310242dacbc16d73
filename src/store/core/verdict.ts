// SQL expressions with three values: NULL stands for a row that SQL cannot decide.

import type { Parameter } from "./parameters.ts";

/** An SQL expression that is true, false or NULL. */
export type Verdict = string;

/** What the engines write differently. */
export interface Dialect {
  /** Returns an expression for the JSON text of the value at a path; NULL when missing, `?` when unreadable. */
  valueAt(path: readonly string[]): string;
  /** Returns an expression for a time of the server. */
  timeAt(column: "created" | "updated"): string;
  /** Returns a parameter. */
  bind(value: Parameter): string;
  numberIn(text: string): string;
  /** Returns an expression for the position of a text in another, or 0. */
  find(text: string, part: string): string;
}

export const unknown = "NULL";
export const yes = "TRUE";
export const no = "FALSE";

export const constant = (value: boolean): Verdict => (value ? yes : no);

export function allOf(parts: readonly Verdict[]): Verdict {
  if (parts.includes(no)) return no;
  const open = [...new Set(parts)].filter((part) => part !== yes);
  return open.length === 0 ? yes : open.length === 1 ? `${open[0]}` : `(${open.join(" AND ")})`;
}

export function anyOf(parts: readonly Verdict[]): Verdict {
  if (parts.includes(yes)) return yes;
  const open = [...new Set(parts)].filter((part) => part !== no);
  return open.length === 0 ? no : open.length === 1 ? `${open[0]}` : `(${open.join(" OR ")})`;
}

const constants: Readonly<Record<Verdict, Verdict>> = { [yes]: no, [no]: yes, [unknown]: unknown };

export const not = (part: Verdict): Verdict => constants[part] ?? `(NOT ${part})`;

export const isConstant = (part: Verdict): boolean => constants[part] !== undefined;
