// Reads byte ranges (RFC 9110 §14).

import type { Validators } from "../../lib/reply.ts";
import { readHttpDate } from "./conditional.ts";
import { trimField } from "./field-list.ts";
import { HttpProblem } from "./http-problem.ts";

export interface ByteRange {
  readonly start: number;
  /** The first byte after it. */
  readonly end: number;
}

/** Clients that ask for more get the whole file. */
const maxRanges = 10;
/** Empty ones are ignored (§5.6.1.2). */
const maxPieces = 2 * maxRanges;
const field = /^bytes=(.*)$/i;
const single = /^(?:(\d+)-(\d*)|-(\d+))$/;

/** Returns what `readRanges` does, and all of the file where If-Range has another version. Only GET supports ranges (§14.2). */
export function rangesOf({ method, headers }: Request, validators: Validators, size: number) {
  const isRangeRequest = method === "GET" && isSameFile(headers, validators);
  return isRangeRequest ? readRanges(headers, size) : undefined;
}

export const unsatisfiable = (size: number): HttpProblem =>
  new HttpProblem("range-not-satisfiable", `The file has ${size} bytes.`, {
    "content-range": `bytes */${size}`,
  });

/**
 * Returns the requested ranges; undefined for the whole file. Other units, malformed ranges and too many get
 * the whole file, as §14.2 allows. Ranges that overlap or touch become one, so that no byte is sent twice.
 */
export function readRanges(
  headers: Headers,
  size: number,
): readonly ByteRange[] | "unsatisfiable" | undefined {
  const [, list] = field.exec(headers.get("range") ?? "") ?? [];
  const all = list?.split(",", maxPieces + 1) ?? [];
  const pieces = all.map(trimField).filter((piece) => piece !== "");
  if (pieces.length === 0 || pieces.length > maxRanges || all.length > maxPieces) return undefined;
  const ranges = pieces.map((piece) => readRange(piece, size));
  if (ranges.includes(undefined)) return undefined;
  const satisfiable = ranges.filter((range) => typeof range === "object");
  return satisfiable.length === 0 ? "unsatisfiable" : coalesced(satisfiable);
}

function readRange(text: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first, last, suffix] = single.exec(text) ?? [];
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  if (first === undefined) return undefined;
  const start = Number(first);
  const end = last ? Number(last) + 1 : size;
  if (last && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: Math.min(end, size) };
}

/** Keeps the order of the client when no ranges become one (§15.3.7.2). */
function coalesced(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const result: ByteRange[] = [];
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last === undefined || start > last.end) result.push({ start, end });
    else result.splice(-1, 1, { start: last.start, end: Math.max(last.end, end) });
  }
  return result.length === ranges.length ? ranges : result;
}

export const contentRange = ({ start, end }: ByteRange, size: number): string =>
  `bytes ${start}-${end - 1}/${size}`;

/** Returns whether If-Range matches this file (§13.1.5); true without If-Range. */
function isSameFile(headers: Headers, validators: Validators): boolean {
  const { etag, updatedAt, isDateExact } = validators;
  const condition = headers.get("if-range");
  if (condition === null) return true;
  if (condition.includes('"')) return condition.trim() === etag;
  const date = readHttpDate(condition);
  if (date === undefined || updatedAt === undefined || !isDateExact) return false;
  return date === Math.floor(updatedAt / 1000) * 1000;
}
