// Shows a value in one line of text. Whatever it contains, it stays text.

import { isObject, type Json } from "../api/json.ts";
import type { Resource, StoredFile } from "../api/types.ts";
import { linkTo, resourcePath } from "../state/router.ts";
import { titleOf } from "../state/titles.ts";
import { formatBothTimes, formatTime } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { type Column, isFile, type Row } from "./columns.ts";
import { valueAt } from "./paths.ts";

/** More would not fit, and a value may have a megabyte. */
const longest = 160;
const longestHint = 1_000;

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

export function CellContent({ row, column }: { row: Row; column: Column }) {
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
  return <Value value={value} column={column} />;
}

const filesIn = (value: Json): readonly StoredFile[] => {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter(isFile);
};

function Value({ value, column }: { value: Json; column: Column }) {
  if (typeof value === "number") return <>{numberText(value)}</>;
  if (typeof value === "boolean")
    return value ? (
      <span class="yes">
        <Icon name="check" /> true
      </span>
    ) : (
      <span class="faint">false</span>
    );
  if (typeof value === "string") return <TextValue text={value} kind={column.kind} />;
  const files = filesIn(value);
  const [first] = files;
  if (first !== undefined)
    return (
      <span class="file-value" title={files.map(({ name }) => name).join("\n")}>
        <Icon name={first.type.startsWith("image/") ? "image" : "file"} />
        <bdi>{cut(first.name, longest)}</bdi>
        {files.length > 1 && <span class="faint">+{files.length - 1}</span>}
      </span>
    );
  return <NestedValue value={value} />;
}

const exact = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });

/** Numbers that are names, such as years and order numbers, have no separators. */
const numberText = (value: number): string =>
  Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : exact.format(value);

function TextValue({ text, kind }: { text: string; kind: Column["kind"] }) {
  const isTime = kind === "time" && !Number.isNaN(Date.parse(text));
  if (isTime)
    return (
      <time dateTime={text} title={formatBothTimes(text)}>
        {formatTime(text)}
      </time>
    );
  return (
    <span dir="auto" title={text.length > 24 ? cut(text, longestHint) : undefined}>
      {cut(text, longest)}
    </span>
  );
}

function NestedValue({ value }: { value: Json }) {
  const simple =
    Array.isArray(value) && value.every((item) => !isObject(item) && !Array.isArray(item));
  const text = simple ? (value as readonly Json[]).join(", ") : JSON.stringify(value);
  return (
    <span dir="auto" class={simple ? undefined : "json-value"} title={cut(text, longestHint)}>
      {text === "" ? "[ ]" : cut(text, longest)}
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
