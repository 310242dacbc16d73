// Chooses the format and the compression of an exported or imported file by its name or by a flag.

import { basename } from "node:path";
import { usageError } from "../lib/cli-error.ts";

export interface DataFormat {
  readonly type: "ndjson" | "csv";
  readonly coding: "gzip" | "zstd" | undefined;
  /** What a file name ends with. */
  readonly extension: string;
}

const types = { ndjson: "ndjson", jsonl: "ndjson", csv: "csv" } as const;
const codings = { gz: "gzip", zst: "zstd" } as const;

export const mediaTypes = { ndjson: "application/x-ndjson", csv: "text/csv" } as const;

/** The values of `--format`. */
const formatNames = Object.keys(types)
  .filter((type) => type !== "jsonl")
  .flatMap((type) => [type, ...Object.keys(codings).map((coding) => `${type}.${coding}`)]);

/** Returns undefined when the extension says nothing. */
function formatOfName(path: string): DataFormat | undefined {
  const words = basename(path).toLowerCase().split(".");
  const last = words.at(-1) ?? "";
  const coding = Object.hasOwn(codings, last) ? codings[last as keyof typeof codings] : undefined;
  const word = (coding === undefined ? last : words.at(-2)) ?? "";
  // A name without a dot before it is not an extension.
  const isExtension = words.length > (coding === undefined ? 1 : 2) && Object.hasOwn(types, word);
  if (!isExtension) return undefined;
  const type = types[word as keyof typeof types];
  return { type, coding, extension: coding === undefined ? type : `${type}.${last}` };
}

/** Returns the format that `--format` names, otherwise that of the file name, otherwise the fallback. */
export function chooseFormat(
  path: string,
  named: string | undefined,
  fallback?: "ndjson",
): DataFormat {
  const format = formatOfName(named === undefined ? path : `x.${named}`);
  if (format !== undefined && (named === undefined || formatNames.includes(named))) return format;
  if (named === undefined && fallback !== undefined)
    return { type: fallback, coding: undefined, extension: fallback };
  const where = named === undefined ? path : `--format ${named}`;
  const detail =
    named === undefined
      ? `the extension is none of ${formatNames.map((name) => `.${name}`).join(" ")}; choose with --format`
      : `must be one of ${formatNames.join(", ")}`;
  throw usageError([{ where, detail }]);
}
