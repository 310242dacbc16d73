// Reads byte ranges (RFC 9110 §14).

import { readHttpDate, type Validators } from "./conditional.ts";

export interface ByteRange {
  readonly start: number;
  /** The first byte after it. */
  readonly end: number;
}

const single = /^bytes=\s*(?:(\d+)-(\d*)|-(\d+))\s*$/i;

/**
 * Returns the requested range; undefined for the whole file. Several ranges, other units and malformed
 * ranges get the whole file, as §14.2 allows.
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

/** Returns whether If-Range matches this file (§13.1.5); true without If-Range. */
export function isSameFile(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact } = validators;
  const field = headers.get("if-range");
  if (field === null) return true;
  if (field.includes('"')) return field.trim() === etag;
  const date = readHttpDate(field);
  if (date === undefined || updatedAt === undefined || !isDateExact) return false;
  return date === Math.floor(updatedAt / 1000) * 1000;
}
