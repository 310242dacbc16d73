// Cursors: where a walk through a list goes on, as a text that only we read.

import { hash } from "node:crypto";
import type { Position } from "./query.ts";

const markChars = 16;

/** What tells one question from another, so that no walk goes on with a question it did not begin with. */
export const queryHash = (question: unknown): string =>
  hash("sha256", JSON.stringify(question), "base64url").slice(0, markChars);

export const writeCursor = ({ seq, keys }: Position, mark: string): string =>
  Buffer.from(JSON.stringify([mark, seq, ...keys])).toString("base64url");

/** The position in a cursor; or that it is none of ours, or belongs to another question. */
export function readCursor(
  text: string,
  mark: string,
  keyCount: number,
): Position | "malformed" | "foreign" {
  const [given, seq, ...keys] = contentOf(text);
  if (typeof given !== "string" || given.length !== markChars) return "malformed";
  if (!Number.isSafeInteger(seq) || !keys.every(isKey)) return "malformed";
  if (given !== mark || keys.length !== keyCount) return "foreign";
  return { seq: seq as number, keys };
}

function contentOf(text: string): readonly unknown[] {
  const bytes = Buffer.from(text, "base64url");
  // What was not read to its end was not ours.
  if (bytes.toString("base64url") !== text) return [];
  try {
    const content: unknown = JSON.parse(bytes.toString());
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}

/** An engine may choke on what no key has. */
const isKey = (key: unknown): key is string =>
  typeof key === "string" && !key.includes("\0") && key.isWellFormed();
