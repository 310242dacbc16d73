// Reads a file of resources in pieces: CSV, NDJSON, or a JSON array.

import { parseToSend } from "../api/exact.ts";
import { type Json, memberOf, parseObject } from "../api/json.ts";
import { Problem } from "../api/problem.ts";
import { CsvSplitter, cellText, findSeparator, type Separator } from "./csv.ts";

export type Format = "csv" | "ndjson" | "json";

/** `windows-1252` and UTF-16 are for files of older programs. */
type Encoding = "utf-8" | "windows-1252" | "utf-16le" | "utf-16be";

/** One resource of a file. */
export interface FileRecord {
  /** Its line in the file, from 1; of a JSON array its position. */
  readonly line: number;
  /** The raw cells of CSV, or JSON text. */
  readonly content: readonly string[] | string;
}

export interface Source {
  readonly file: File;
  readonly format: Format;
  readonly separator: Separator;
  readonly encoding: Encoding;
  /** The names of the columns, or the members of the first records. */
  readonly columns: readonly string[];
  /** The first records, as texts by column. */
  readonly preview: readonly (readonly string[])[];
}

const sampleBytes = 262_144;
const previewRows = 5;
const maxJsonBytes = 100_000_000;

/** Throws an `Error` that says what to do when the file cannot be read. */
export async function openSource(file: File): Promise<Source> {
  const bytes = new Uint8Array(await file.slice(0, sampleBytes).arrayBuffer());
  const encoding = encodingOf(bytes, file.size > sampleBytes);
  const text = new TextDecoder(encoding).decode(bytes);
  if (text.trim() === "") throw new Error(`${file.name} is empty.`);
  const format = findFormat(file.name, text);
  if (format === "json" && file.size > maxJsonBytes)
    throw new Error(
      "A JSON array of more than 100 MB must be sent as NDJSON: one object per line.",
    );
  const separator = findSeparator(text);
  const source: Source = { file, format, separator, encoding, columns: [], preview: [] };
  return format === "csv" ? withCsvPreview(source) : withJsonPreview(source);
}

function encodingOf(bytes: Uint8Array, isCut: boolean): Encoding {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return isUtf8(bytes, isCut) ? "utf-8" : "windows-1252";
}

/** A cut at the end may split a character. */
function isUtf8(bytes: Uint8Array, isCut: boolean): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
    return true;
  } catch {
    return false;
  }
}

/** By the content; the name decides where the content does not. */
function findFormat(name: string, text: string): Format {
  const start = text.trimStart();
  if (start.startsWith("[")) return "json";
  if (!start.startsWith("{")) return "csv";
  return /\.json$/i.test(name) && !parseObject(start.split("\n", 1)[0] ?? "") ? "json" : "ndjson";
}

async function firstRecords(source: Source): Promise<readonly FileRecord[]> {
  const found: FileRecord[] = [];
  for await (const record of recordsOf(source)) {
    found.push(record);
    if (found.length > previewRows) break;
  }
  return found;
}

async function withCsvPreview(source: Source): Promise<Source> {
  const [header, ...rows] = (await firstRecords(source)).map(({ content }) =>
    typeof content === "string" ? [] : content.map(cellText),
  );
  return { ...source, columns: header ?? [], preview: rows };
}

async function withJsonPreview(source: Source): Promise<Source> {
  const records = await firstRecords(source);
  // A line that is no object is shown empty; the server names its error.
  const objects = records
    .slice(0, previewRows)
    .map(({ content }) => parseObject(String(content)) ?? {});
  const columns = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  const shown = (value: Json | undefined): string =>
    value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const preview = objects.map((object) => columns.map((name) => shown(memberOf(object, name))));
  return { ...source, columns, preview };
}

/** Reads all records; of CSV the header is the first. */
export function recordsOf(source: Source): AsyncGenerator<FileRecord> {
  if (source.format === "json") return arrayRecords(source);
  return source.format === "csv" ? csvRecords(source) : lineRecords(source);
}

/** Only the beginning was looked at before. */
const wrongText = ({ name }: File): Problem =>
  new Problem(-1, {
    title: "The file cannot be read",
    detail: `${name} begins in UTF-8, but a later part of it is not. Save it as UTF-8.`,
  });

async function* textOf({ file, encoding }: Source): AsyncGenerator<string> {
  const decoder = new TextDecoderStream(encoding, { fatal: true });
  const reader = file.stream().pipeThrough(decoder).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } catch (error) {
    throw error instanceof TypeError ? wrongText(file) : error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function* csvRecords(source: Source): AsyncGenerator<FileRecord> {
  const splitter = new CsvSplitter(source.separator);
  const asRecord = ({ line, cells }: { line: number; cells: readonly string[] }): FileRecord => ({
    line,
    content: cells,
  });
  for await (const text of textOf(source)) yield* splitter.push(text).map(asRecord);
  yield* splitter.end().map(asRecord);
}

async function* lineRecords(source: Source): AsyncGenerator<FileRecord> {
  let rest = "";
  let line = 0;
  for await (const text of textOf(source)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const one of lines) {
      line++;
      if (one.trim() !== "") yield { line, content: one };
    }
  }
  if (rest.trim() !== "") yield { line: line + 1, content: rest };
}

async function* arrayRecords(source: Source): AsyncGenerator<FileRecord> {
  let text = "";
  for await (const part of textOf(source)) text += part;
  const value = parseToSend(text);
  const items = Array.isArray(value) ? value : [value];
  for (const [index, item] of items.entries())
    yield { line: index + 1, content: JSON.stringify(item) };
}
