// Assigns each uploaded file of a form to a member of the resource and a URL.

import { pointerTo } from "../lib/json/error-report.ts";
import { jsonTypesOf } from "../lib/schema/types.ts";
import type { Rules } from "./collection.ts";
import { definitionOf } from "./definition.ts";
import { filePathPattern, memberOf, type StoredFile } from "./file.ts";
import { formSchemaOf } from "./form-schema.ts";
import { type FieldError, Problem } from "./problem.ts";
import { ignoredMembers } from "./resource.ts";

/** An uploaded file with the name of its form field. */
export interface NamedFile extends Omit<StoredFile, "slot"> {
  readonly field: string;
}

export interface FileFieldMember {
  readonly name: string;
  /** Whether the member is a list even for one file. */
  readonly isList: boolean;
}

/** The member for the files of a form field, or a problem when the name is not allowed. */
export function memberFor(field: string, rules: Rules | undefined): FileFieldMember | Problem {
  const schema = rules && definitionOf(rules).schema;
  const { path, fields } = formSchemaOf(schema).find(field);
  const [name = "", ...inner] = path;
  const detail = inner.length > 0 || name.includes(".") ? badName : wrongName(name);
  if (detail !== undefined) return invalid({ pointer: pointerTo(path), detail });
  return { name, isList: fields !== undefined && jsonTypesOf(fields)?.has("array") === true };
}

/** Says what is wrong with the last segment of a file's URL; undefined when nothing is. */
export function wrongName(slot: string): string | undefined {
  if (!filePathPattern.test(slot) || memberOf({ slot }) === "__proto__") return badName;
  return ignoredMembers.includes(memberOf({ slot })) ? serverMember : undefined;
}

/** Assigns the files in order: one file becomes an object, several become a list. */
export function assignFiles(
  files: readonly NamedFile[],
  rules: Rules | undefined,
): readonly StoredFile[] | Problem {
  const stored: StoredFile[] = [];
  const members = files.map(({ field }) => memberFor(field, rules));
  for (const [index, member] of members.entries()) {
    if (member instanceof Problem) return member;
    const isSame = (other: FileFieldMember | Problem) =>
      "name" in other && other.name === member.name;
    const number = members.slice(0, index + 1).filter(isSame).length;
    const isNumbered = member.isList || members.filter(isSame).length > 1;
    const { field: _, ...file } = files[index] as NamedFile;
    stored.push({ slot: isNumbered ? `${member.name}.${number}` : member.name, ...file });
  }
  return stored;
}

const badName =
  "the field name of a file must have at most 64 letters, digits, _ and -, starting with a letter";
const serverMember = "only the server sets this";

const invalid = (error: FieldError): Problem =>
  new Problem("invalid-body", "The form is not valid; `errors` lists each error.", {
    errors: [error],
  });
