// Parses a request body into the fields and the id of a resource that is not yet validated.

import { type Member, type ScannedObject, scanObject } from "../lib/json/scan.ts";
import { decodeUtf8 } from "../lib/json/utf8.ts";
import type { FieldError } from "./problem.ts";
import { ignoredMembers } from "./resource.ts";

export interface Draft {
  /** The client's text, compact, without the members that only the server sets. */
  readonly fields: string;
  /** The client's `id`: null when it is not a string, undefined when none was sent. */
  readonly id: string | null | undefined;
}

/** Returns a draft, or all errors of the body. */
export function readDraft(bytes: Uint8Array): Draft | readonly FieldError[] {
  const text = decodeUtf8(bytes);
  return typeof text === "string" ? draftOf(text) : [text];
}

export function draftOf(text: string): Draft | readonly FieldError[] {
  const scanned = scanObject(text);
  return "members" in scanned ? { fields: fieldsOf(scanned), id: idOf(scanned) } : scanned;
}

function fieldsOf(scanned: ScannedObject): string {
  const { text, members, gaps } = scanned;
  const userMembers = members.filter(({ name }) => !ignoredMembers.includes(name));
  const isUnchanged = gaps.length === 0 && userMembers.length === members.length;
  return isUnchanged ? text : `{${compact(scanned, userMembers).join(",")}}`;
}

/** The text of each member without the insignificant whitespace. */
function compact({ text, gaps }: ScannedObject, members: readonly Member[]): readonly string[] {
  const boundary = (index: number): number => gaps[index] ?? text.length;
  let gap = 0;
  return members.map(({ start, end }) => {
    while (boundary(gap) < start) gap += 2;
    let piece = "";
    let from = start;
    for (; boundary(gap) < end; gap += 2) {
      piece += text.slice(from, boundary(gap));
      from = boundary(gap + 1);
    }
    return piece + text.slice(from, end);
  });
}

function idOf({ text, members }: ScannedObject): Draft["id"] {
  const member = members.find(({ name }) => name === "id");
  if (member === undefined) return undefined;
  const value: unknown = JSON.parse(text.slice(member.valueStart, member.end));
  return typeof value === "string" ? value : null;
}
