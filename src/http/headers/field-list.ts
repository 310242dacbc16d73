// Header fields as texts: their pieces between commas or semicolons, and quoted strings (RFC 9110 §5.6).

import { Problem } from "../../model/problem.ts";

/**
 * The pieces of a field between separators, which count only outside quoted strings. A quoted string
 * that does not end reaches to the end of the field.
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

/** Where the quoted string that begins here ends, behind its closing quote; -1 when it does not end. */
function quotedEnd(field: string, start: number): number {
  for (let at = start + 1; at < field.length; at++) {
    const character = field[at];
    if (character === '"') return at + 1;
    if (character === "\\") at++;
  }
  return -1;
}

/** What is between the quotes, as it is written; undefined when the whole text is no quoted string. */
export const quotedInner = (text: string): string | undefined =>
  text.startsWith('"') && quotedEnd(text, 0) === text.length ? text.slice(1, -1) : undefined;

/** The fields in which a client lists what it takes have at most so many characters. */
const maxListChars = 1_000;

/** Refuses a field such as Accept that is longer than any client needs: to read it takes time. */
export const refuseLong = (name: string, field: string): Problem | undefined =>
  field.length <= maxListChars
    ? undefined
    : new Problem(
        "header-too-large",
        `${name} has ${field.length} characters, and at most ${maxListChars} are read. List only what you would take.`,
      );

/** Without spaces and tabs around it. `trim` would also cut bytes of UTF-8 that look like other spaces. */
export function trimField(text: string): string {
  let [start, end] = [0, text.length];
  while (isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return text.slice(start, end);
}

const isSpace = (character: string | undefined): boolean => character === " " || character === "\t";
