// What a cell says, in one line. Whatever a value contains, it stays text.

import { isObject, type Json } from "../api/json.ts";
import { isPicture } from "../api/pictures.ts";
import type { Resource, StoredFile } from "../api/types.ts";
import { resourceUrl } from "../state/changes.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { formatBothTimes, formatDate, formatMinute } from "../ui/format.ts";
import { type Column, isFile, type Row } from "./columns.ts";
import { valueAt } from "./paths.ts";
import { nestedText, numberText } from "./texts.ts";

export interface CellText {
  readonly text: string;
  /** A class of the style sheet. */
  readonly look?: "nothing" | "faint" | "yes";
  /** For the pointer that rests on it. */
  readonly hint?: string | undefined;
  readonly href?: string;
  readonly icon?: "image" | "file";
  /** Where a small picture is, and which one. */
  readonly picture?: { readonly path: string; readonly version: string };
}

/** More would not fit, and a value may have a megabyte. */
const longest = 160;
const longestHint = 1_000;

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

export function cellText(collection: string, row: Row, column: Column): CellText {
  const value = valueAt(row, column.path);
  if (value === undefined) return { text: "–", look: "nothing", hint: "This field is missing" };
  if (value === null) return { text: "null", look: "nothing" };
  if (value === "") return { text: '""', look: "nothing" };
  if (column.refersTo !== undefined && typeof value === "string")
    return referenceText(column.refersTo, value, row, column.path);
  if (typeof value === "number") return { text: numberText(value, column.form ?? plainForm) };
  if (typeof value === "boolean") return { text: String(value), look: value ? "yes" : "faint" };
  if (typeof value === "string") return plainText(value, column.kind);
  const files = filesIn(value);
  const [first] = files;
  if (first !== undefined)
    return fileText(first, files, resourceUrl(collection, row.id), column.pictureSize);
  return {
    text: cut(nestedText(value), longest),
    hint: cut(JSON.stringify(value), longestHint),
  };
}

const plainForm = { digits: 0, isGrouped: true };

function plainText(text: string, kind: Column["kind"]): CellText {
  const isTime = (kind === "time" || kind === "date") && !Number.isNaN(Date.parse(text));
  if (isTime && kind === "time") return { text: formatMinute(text), hint: formatBothTimes(text) };
  if (isTime) return { text: formatDate(text), hint: text };
  return { text: cut(text, longest), hint: text.length > 24 ? cut(text, longestHint) : undefined };
}

const filesIn = (value: Json): readonly StoredFile[] => {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter(isFile);
};

/** Without a declared size, a large picture would be read whole. */
const largestPicture = 200_000;

/** `path` is that of the resource, `size` the parameters of a small picture. */
function fileText(
  first: StoredFile,
  all: readonly StoredFile[],
  path: string,
  size: string | undefined,
): CellText {
  const isShown = isPicture(first.type) && (size !== undefined || first.size <= largestPicture);
  const place = `${path}/${first.url.split("/").at(-1)}${size === undefined ? "" : `?${size}`}`;
  return {
    text: `${cut(first.name, longest)}${all.length > 1 ? ` +${all.length - 1}` : ""}`,
    hint: all.map(({ name }) => name).join("\n"),
    ...(isShown
      ? { picture: { path: place, version: first.sha256 ?? "" } }
      : { icon: first.type.startsWith("image/") ? "image" : "file" }),
  };
}

function referenceText(collection: string, id: string, row: Row, path: string): CellText {
  const expanded = isObject(row._expanded) ? row._expanded[path] : undefined;
  const title = isObject(expanded) ? titleOf(expanded as Resource) : id;
  return {
    text: cut(title, longest),
    hint: `${collection}/${id}`,
    href: linkTo(resourcePath(collection, id)),
  };
}
