// Splits header fields at commas or semicolons, and reads quoted strings (RFC 9110 §5.6).

import { Problem } from "../../model/problem.ts";

/**
 * Splits a field at separators outside quoted strings. An unterminated quoted string extends to the
 * end of the field.
 */
export function splitField(field: string, separator: "," | ";"): readonly string[] {
  if (!field.includes('"')) return field.split(separator);
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at < field.length; at++) {
    const character = field[at];
    if (character === '"') {
      const end = quotedEnd(field, at);
      if (end < 0) break;
      at = end - 1;
    } else if (character === separator) {
      pieces.push(field.slice(start, at));
      start = at + 1;
    }
  }
  pieces.push(field.slice(start));
  return pieces;
}

/** Removes quoted strings; undefined when one does not end. */
export function withoutQuoted(field: string): string | undefined {
  let rest = "";
  let start = 0;
  for (let at = field.indexOf('"'); at >= 0; at = field.indexOf('"', start)) {
    rest += field.slice(start, at);
    start = quotedEnd(field, at);
    if (start < 0) return undefined;
  }
  return rest + field.slice(start);
}

/** Returns the index after the closing quote; -1 when there is none. */
function quotedEnd(field: string, start: number): number {
  for (let at = start + 1; at < field.length; at++) {
    const character = field[at];
    if (character === '"') return at + 1;
    if (character === "\\") at++;
  }
  return -1;
}

/** Returns the raw text between the quotes; undefined when the text is not one quoted string. */
export const quotedInner = (text: string): string | undefined =>
  text.startsWith('"') && quotedEnd(text, 0) === text.length ? text.slice(1, -1) : undefined;

/** The limit for Accept and similar fields. */
const maxListChars = 1_000;

/** Rejects a field such as Accept that is longer than any client needs, because parsing it takes time. */
export const checkFieldLength = (name: string, field: string): Problem | undefined =>
  field.length <= maxListChars
    ? undefined
    : new Problem(
        "header-too-large",
        `${name} has ${field.length} characters; at most ${maxListChars} are allowed.`,
      );

/** Removes spaces and tabs around the text. `trim` would also remove UTF-8 bytes that look like other spaces. */
export function trimField(text: string): string {
  let [start, end] = [0, text.length];
  while (isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return text.slice(start, end);
}

const isSpace = (character: string | undefined): boolean => character === " " || character === "\t";
