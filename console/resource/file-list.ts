// The files of a resource, and the addresses of new ones.

import { type Json, type JsonObject, memberOf } from "../api/json.ts";
import type { Definition, StoredFile } from "../api/types.ts";
import { isFile, isFileSchema } from "../form/schema.ts";

export interface ListedFile {
  /** The member of the resource. */
  readonly field: string;
  readonly file: StoredFile;
}

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : value === undefined ? [] : [value];

export const filesOf = (resource: JsonObject): readonly ListedFile[] =>
  Object.entries(resource).flatMap(([field, value]) =>
    listOf(value)
      .filter(isFile)
      .map((file) => ({ field, file })),
  );

/** The last segment of the address, such as `docs.2`. The prefix of the server is not part of it. */
export const nameIn = ({ url }: StoredFile): string => url.split("/").at(-1) ?? "";

/** Fields that the schema describes as files. */
const declaredFields = ({ schema }: Definition): readonly string[] =>
  Object.entries(schema?.properties ?? {}).flatMap(([name, one]) =>
    isFileSchema(one) ? [name] : [],
  );

/** Fields for files: those of the schema, and those that have files. */
export const fileFields = (resource: JsonObject, definition: Definition): readonly string[] => [
  ...new Set([...declaredFields(definition), ...filesOf(resource).map(({ field }) => field)]),
];

/** A list, unless a resource has it otherwise. */
const usualName = "files";

/** Where a file goes if nobody says otherwise. */
export function usualField(resource: JsonObject): string {
  const list = filesOf(resource).find(({ field }) => Array.isArray(resource[field]))?.field;
  const wanted = list ?? usualName;
  return fieldProblem(resource, wanted) === undefined ? wanted : `more${capital(wanted)}`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** What is wrong with the name of a field for new files. */
export function fieldProblem(resource: JsonObject, field: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_-]*$/.test(field))
    return "Use letters, digits, _ and -, beginning with a letter.";
  const value = memberOf(resource, field);
  if (value === undefined || (Array.isArray(value) && value.every(isFile))) return undefined;
  return isFile(value)
    ? "This field has its file already. Replace that one, or use another field."
    : "This is a field with another value.";
}

/** Whether new files of a field become a list. */
export function isListField(
  resource: JsonObject,
  { schema }: Definition,
  field: string,
  count: number,
): boolean {
  const declared = schema?.properties?.[field]?.type;
  const isFree = declared === undefined && (count > 1 || field === usualName);
  return Array.isArray(memberOf(resource, field)) || declared === "array" || isFree;
}

/** The name of a new file in a list: a number that goes on after the highest. */
export function nextName(resource: JsonObject, field: string): string {
  const numbers = listOf(memberOf(resource, field))
    .filter(isFile)
    .map((file) => Number(nameIn(file).split(".").at(-1)));
  return `${field}.${Math.max(0, ...numbers) + 1}`;
}
