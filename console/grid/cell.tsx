// Shows a value in one line of text. Whatever it contains, it stays text.

import { isObject, type Json, type JsonObject } from "../api/json.ts";
import { isPicture } from "../api/pictures.ts";
import type { Resource, StoredFile } from "../api/types.ts";
import { resourceUrl } from "../state/changes.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { formatBothTimes, formatDate, formatMinute } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { type Column, isFile, type Row } from "./columns.ts";
import { valueAt } from "./paths.ts";
import { nestedText, numberText } from "./texts.ts";
import { Thumbnail } from "./thumbnail.tsx";

/** More would not fit, and a value may have a megabyte. */
const longest = 160;
const longestHint = 1_000;

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

interface CellProps {
  readonly collection: string;
  readonly row: Row;
  readonly column: Column;
}

export function CellContent({ collection, row, column }: CellProps) {
  const value = valueAt(row, column.path);
  if (value === undefined)
    return (
      <span class="nothing" title="This field is missing">
        –
      </span>
    );
  if (value === null) return <code class="nothing">null</code>;
  if (value === "") return <code class="nothing">""</code>;
  if (column.refersTo !== undefined && typeof value === "string")
    return <ReferenceLink collection={column.refersTo} id={value} row={row} path={column.path} />;
  const files = filesIn(value);
  if (files.length > 0)
    return <Files files={files} path={resourceUrl(collection, row.id)} size={column.pictureSize} />;
  return <Value value={value} column={column} />;
}

const filesIn = (value: Json): readonly StoredFile[] => {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter(isFile);
};

function Value({ value, column }: { value: Json; column: Column }) {
  if (typeof value === "number") return <>{numberText(value, column.form ?? plainForm)}</>;
  if (typeof value === "boolean")
    return value ? (
      <span class="yes">
        <Icon name="check" /> true
      </span>
    ) : (
      <span class="faint">false</span>
    );
  if (typeof value === "string") return <TextValue text={value} kind={column.kind} />;
  return <NestedValue value={value ?? []} />;
}

interface FilesProps {
  readonly files: readonly StoredFile[];
  /** The path of the resource. */
  readonly path: string;
  readonly size: string | undefined;
}

/** Without a declared size, a large picture would be read whole. */
const largestPicture = 200_000;

function Files({ files, path, size }: FilesProps) {
  const [first] = files;
  if (first === undefined) return null;
  const place = `${path}/${first.url.split("/").at(-1)}${size === undefined ? "" : `?${size}`}`;
  const isShown = isPicture(first.type) && (size !== undefined || first.size <= largestPicture);
  return (
    <span class="file-value" title={files.map(({ name }) => name).join("\n")}>
      {isShown ? (
        <Thumbnail path={place} version={first.sha256 ?? ""} />
      ) : (
        <Icon name={first.type.startsWith("image/") ? "image" : "file"} />
      )}
      <bdi>{cut(first.name, longest)}</bdi>
      {files.length > 1 && <span class="faint">+{files.length - 1}</span>}
    </span>
  );
}

const plainForm = { digits: 0, isGrouped: true };

function TextValue({ text, kind }: { text: string; kind: Column["kind"] }) {
  const isTime = kind === "time" && !Number.isNaN(Date.parse(text));
  if (isTime)
    return (
      <time dateTime={text} title={formatBothTimes(text)}>
        {formatMinute(text)}
      </time>
    );
  if (kind === "date" && !Number.isNaN(Date.parse(text)))
    return (
      <time dateTime={text} title={text}>
        {formatDate(text)}
      </time>
    );
  return (
    <span dir="auto" title={text.length > 24 ? cut(text, longestHint) : undefined}>
      {cut(text, longest)}
    </span>
  );
}

function NestedValue({ value }: { value: JsonObject | readonly Json[] }) {
  return (
    <span dir="auto" title={cut(JSON.stringify(value), longestHint)}>
      {cut(nestedText(value), longest)}
    </span>
  );
}

interface ReferenceProps {
  readonly collection: string;
  readonly id: string;
  readonly row: Row;
  readonly path: string;
}

function ReferenceLink({ collection, id, row, path }: ReferenceProps) {
  const expanded = isObject(row._expanded) ? row._expanded[path] : undefined;
  const title = isObject(expanded) ? titleOf(expanded as Resource) : id;
  return (
    <a
      href={linkTo(resourcePath(collection, id))}
      tabIndex={-1}
      dir="auto"
      title={`${collection}/${id}`}
    >
      {cut(title, longest)}
    </a>
  );
}
