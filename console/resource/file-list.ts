// The files of a resource, and the addresses of new ones.

import { type Json, type JsonObject, memberOf } from "../api/json.ts";
import type { Definition, StoredFile } from "../api/types.ts";
import { isFile } from "../form/schema.ts";

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

/** Fields that the schema describes as files: objects with a name, a type or a size, or lists of them. */
function declaredField({ schema }: Definition): string | undefined {
  const properties = Object.entries(schema?.properties ?? {});
  return properties.find(([, one]) => {
    const members = (one.items ?? one).properties ?? {};
    return "size" in members || "sha256" in members || ("type" in members && "url" in members);
  })?.[0];
}

/** Where a file goes if nobody says otherwise. */
export const usualField = (resource: JsonObject, definition: Definition): string =>
  filesOf(resource).find(({ field }) => Array.isArray(resource[field]))?.field ??
  declaredField(definition) ??
  "files";

/** What is wrong with the name of a field for files. */
export function fieldProblem(resource: JsonObject, field: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_-]*$/.test(field))
    return "Use letters, digits, _ and -, beginning with a letter.";
  const value = memberOf(resource, field);
  const isFree = value === undefined || listOf(value).every(isFile);
  return isFree ? undefined : "This is a field with another value.";
}

/** The names of new files: a list has numbers, which go on after the highest. */
export function newNames(
  resource: JsonObject,
  definition: Definition,
  field: string,
  count: number,
): readonly string[] {
  const value = memberOf(resource, field);
  const isList =
    Array.isArray(value) || definition.schema?.properties?.[field]?.type === "array" || count > 1;
  const isNew = value === undefined;
  if (!isList || (!isNew && !Array.isArray(value))) return [field];
  const numbers = listOf(value)
    .filter(isFile)
    .map((file) => Number(nameIn(file).split(".").at(-1)));
  const highest = Math.max(0, ...numbers);
  return Array.from({ length: count }, (_, index) => `${field}.${highest + index + 1}`);
}

/** Without it the name of a file would be lost. */
export const dispositionOf = (name: string): string =>
  `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, escapeByte)}`;

const escapeByte = (letter: string): string =>
  `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
