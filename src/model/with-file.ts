// Adds one file to the files of a member, or replaces one.

import { pointerTo } from "../lib/json/error-report.ts";
import { isEmptyList, isObject, readTree } from "../lib/json/tree.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { isNumbered, memberOf, named, type StoredFile } from "./file.ts";
import { memberFor } from "./file-fields.ts";
import { Problem } from "./problem.ts";
import type { Resource } from "./resource.ts";
import { validatorOf } from "./validator.ts";

/** A list that grows longer belongs into resources of its own. */
const maxFilesOfMember = 1_000;

/** The files of a member, and what decides whether it can have another one. */
export interface MemberFiles {
  readonly rules: Rules | undefined;
  readonly current: Pick<Resource, "fields">;
  /** The files of its member so far. */
  readonly stored: readonly StoredFile[];
}

/** Returns the files of the member with the new one. A replaced file keeps its name if none was sent. */
export function withFile(file: StoredFile, target: MemberFiles): readonly StoredFile[] | Problem {
  const { stored } = target;
  const at = stored.findIndex(({ slot }) => slot === file.slot);
  const former = stored[at];
  if (former !== undefined) return stored.with(at, { ...file, name: file.name || former.name });
  return refuseNew(file, target) ?? [...stored, named(file)];
}

function refuseNew(file: StoredFile, target: MemberFiles): Problem | undefined {
  const { stored, rules, current } = target;
  const member = memberOf(file);
  if (isTaken(current.fields, member, rules)) return taken(member);
  const known = memberFor(member, rules);
  if (known instanceof Problem) return known;
  const [first] = stored;
  const isList = first ? isNumbered(first) : known.isList || isNumbered(file);
  if (!isList) return isNumbered(file) ? oneFile(member) : undefined;
  const next = 1 + Math.max(0, ...stored.map(numberOf));
  if (!isNumbered(file) || numberOf(file) > next) return notNext(member, next);
  return stored.length >= maxFilesOfMember ? full(member) : undefined;
}

const numberOf = ({ slot }: StoredFile): number => Number(slot.split(".")[1]);

/** An empty value gives way to a file, and so does the description of one without bytes. */
function isTaken(fields: string, member: string, rules: Rules | undefined): boolean {
  if (rules && validatorOf(definitionOf(rules)).fileMembers.includes(member)) return false;
  const tree = readTree(fields);
  const value = isObject(tree) ? tree.members.get(member) : undefined;
  return value !== undefined && value !== "null" && !isEmptyList(value);
}

const conflict = (member: string, detail: string, error: string): Problem =>
  new Problem("conflict", `${detail} Nothing was changed.`, {
    errors: [{ pointer: pointerTo([member]), detail: error }],
  });

const taken = (member: string): Problem =>
  conflict(
    member,
    `"${member}" is a field of the resource, not a file. Remove the field, or choose another name.`,
    "this is not a file",
  );

const oneFile = (member: string): Problem =>
  conflict(member, `"${member}" is one file. PUT it without a number.`, "this is not a list");

const notNext = (member: string, next: number): Problem =>
  conflict(
    member,
    `"${member}" is a list of files. PUT a new one to "${member}.${next}".`,
    `the next file of this list is number ${next}`,
  );

const full = (member: string): Problem =>
  conflict(
    member,
    `"${member}" has ${maxFilesOfMember} files, which is the most. Remove one first.`,
    `a list has at most ${maxFilesOfMember} files`,
  );
