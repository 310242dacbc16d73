// Byte ranges (RFC 9110 §14): which part of a file a GET asks for.

import { readHttpDate, type Validators } from "./conditional.ts";

export interface ByteRange {
  readonly start: number;
  /** The first byte after it. */
  readonly end: number;
}

const single = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))\s*$/i;

/**
 * The range that is asked for; undefined for the whole. Several ranges, other units and what is
 * malformed are answered with the whole, as §14.2 allows.
 */
export function readRange(headers: Headers, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first, last, suffix] = single.exec(headers.get("range") ?? "") ?? [];
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  if (first === undefined) return undefined;
  const start = Number(first);
  const end = last ? Number(last) + 1 : size;
  if (end <= start && last) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: Math.min(end, size) };
}

/** Whether the client has a part of this very file (§13.1.5); without If-Range it says so. */
export function isSameFile(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact } = validators;
  const field = headers.get("if-range");
  if (field === null) return true;
  if (field.includes('"')) return field.trim() === etag;
  const date = readHttpDate(field);
  if (date === undefined || updatedAt === undefined || !isDateExact) return false;
  return date === Math.floor(updatedAt / 1000) * 1000;
}
