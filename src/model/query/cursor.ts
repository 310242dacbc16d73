// Encodes and decodes list cursors, which are opaque to clients.

import { hash } from "node:crypto";
import type { Position } from "./query.ts";

const hashChars = 16;

/** A short hash of a query. A cursor carries it, so that it is accepted only for the same query. */
export const queryHash = (query: unknown): string =>
  hash("sha256", JSON.stringify(query), "base64url").slice(0, hashChars);

/** Returns conditions or words in an order that does not depend on how the client wrote them. */
export const inFixedOrder = <T>(items: readonly T[]): readonly T[] =>
  items
    .map((item) => [JSON.stringify(item), item] as const)
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([, item]) => item);

/** Its length does not depend on the place, which would show how many resources there are. */
export function writeCursor({ seq, keys }: Position, queryHash: string): string {
  const padding = " ".repeat(seqDigits - `${seq}`.length);
  return Buffer.from(JSON.stringify([queryHash, seq, ...keys]) + padding).toString("base64url");
}

/** Of the largest integer that JSON numbers have exactly. */
const seqDigits = `${Number.MAX_SAFE_INTEGER}`.length;

/** Returns the position in a cursor, `malformed` when it cannot be read, or `foreign` when it is for another query. */
export function readCursor(
  text: string,
  expectedHash: string,
  keyCount: number,
): Position | "malformed" | "foreign" {
  const [given, seq, ...keys] = contentOf(text);
  if (typeof given !== "string" || given.length !== hashChars) return "malformed";
  if (!Number.isSafeInteger(seq) || !keys.every(isKey)) return "malformed";
  if (given !== expectedHash || keys.length !== keyCount) return "foreign";
  return { seq: seq as number, keys };
}

function contentOf(text: string): readonly unknown[] {
  const bytes = Buffer.from(text, "base64url");
  // Decoding stops at an invalid character, so a cursor that does not encode back is malformed.
  if (bytes.toString("base64url") !== text) return [];
  try {
    const content: unknown = JSON.parse(bytes.toString());
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}

/** A key never has NUL or lone surrogates, which an engine may reject. */
const isKey = (key: unknown): key is string =>
  typeof key === "string" && !key.includes("\0") && key.isWellFormed();
