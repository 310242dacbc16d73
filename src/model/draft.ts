// Parses a request body into the fields and the id of a resource that is not yet validated.

import { type JsonMember, type ScannedObject, scanObject } from "../lib/json/scan.ts";
import { decodeUtf8 } from "../lib/json/utf8.ts";
import type { FieldError } from "./problem.ts";
import { ignoredMembers, ownerMember } from "./resource.ts";

export interface Draft {
  /** The client's text, compact, without the members that only the server sets. */
  readonly fields: string;
  /** The client's `id`: null when it is not a string, undefined when none was sent. */
  readonly id: string | null | undefined;
  /** The value of `_owner`, which only the operator can set; undefined when none was sent. */
  readonly owner?: unknown;
}

/** Returns a draft, or all errors of the body. */
export function readDraft(bytes: Uint8Array): Draft | readonly FieldError[] {
  const text = decodeUtf8(bytes);
  return typeof text === "string" ? draftOf(text) : [text];
}

export function draftOf(text: string): Draft | readonly FieldError[] {
  const scanned = scanObject(text);
  if (!("members" in scanned)) return scanned;
  const fields = fieldsOf(scanned);
  // Most bodies have none of the ignored members.
  if (fields === scanned.text) return { fields, id: undefined };
  const draft = { fields, id: idOf(scanned) };
  const owner = memberValue(scanned, ownerMember);
  return owner === undefined ? draft : { ...draft, owner };
}

function fieldsOf(scanned: ScannedObject): string {
  const { text, members, gaps } = scanned;
  if (gaps.length === 0 && members.every(isOfUser)) return text;
  return `{${compact(scanned, members.filter(isOfUser)).join(",")}}`;
}

const isOfUser = ({ name }: JsonMember): boolean => !ignoredMembers.includes(name);

/** The text of each member without the insignificant whitespace. */
function compact({ text, gaps }: ScannedObject, members: readonly JsonMember[]): readonly string[] {
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

function idOf(scanned: ScannedObject): Draft["id"] {
  const value = memberValue(scanned, "id");
  return value === undefined || typeof value === "string" ? value : null;
}

/** Returns the value of a member; undefined when there is none. */
function memberValue({ text, members }: ScannedObject, name: string): unknown {
  const member = members.find((each) => each.name === name);
  return member && JSON.parse(text.slice(member.valueStart, member.end));
}
