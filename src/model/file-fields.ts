// Where the files of a form go: the member that shows each, and its address.

import { pointerTo } from "../lib/json/error-report.ts";
import { jsonTypesOf } from "../lib/schema/types.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { filePathPattern, type StoredFile } from "./file.ts";
import { formSchemaOf } from "./form-schema.ts";
import { type FieldError, Problem } from "./problem.ts";
import { ignoredMembers } from "./resource.ts";

/** A file as it came, under the name of its field. */
export interface NamedFile extends Omit<StoredFile, "slot"> {
  readonly field: string;
}

export interface Member {
  readonly name: string;
  /** Whether it shows a list even of one file. */
  readonly isList: boolean;
}

/** The member for the files of a field, as far as there can be one. */
export function memberFor(field: string, rules: Rules | undefined): Member | Problem {
  const schema = rules && definitionOf(rules).schema;
  const { path, fields } = formSchemaOf(schema).find(field);
  const [name = "", ...inner] = path;
  if (inner.length > 0 || !filePathPattern.test(name) || name.includes(".") || name === "__proto__")
    return invalid({ pointer: pointerTo(path), detail: badName });
  if (ignoredMembers.includes(name)) return invalid({ pointer: pointerTo(path), detail: ours });
  return { name, isList: fields !== undefined && jsonTypesOf(fields)?.has("array") === true };
}

/** The files of each field in their order: one alone, several in a list. */
export function placeFiles(
  files: readonly NamedFile[],
  rules: Rules | undefined,
): readonly StoredFile[] | Problem {
  const parts: StoredFile[] = [];
  const members = files.map(({ field }) => memberFor(field, rules));
  for (const [index, member] of members.entries()) {
    if (member instanceof Problem) return member;
    const isSame = (other: Member | Problem) => "name" in other && other.name === member.name;
    const number = members.slice(0, index + 1).filter(isSame).length;
    const isNumbered = member.isList || members.filter(isSame).length > 1;
    const { field: _, ...file } = files[index] as NamedFile;
    parts.push({ slot: isNumbered ? `${member.name}.${number}` : member.name, ...file });
  }
  return parts;
}

const badName =
  "a file's field is named with letters, digits, _ and -, starting with a letter, at most 64 of them";
const ours = "only the server sets this";

const invalid = (fault: FieldError): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` names each fault.", {
    errors: [fault],
  });
