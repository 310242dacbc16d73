// Sends the records of a file in several requests, so that progress is known and nothing is too large.

import { send } from "../api/client.ts";
import type { ProblemDetail } from "../api/problem.ts";
import { type FileRecord, recordsOf, type Source } from "./file.ts";
import { type Mapping, mapHeader, mapRecord } from "./mapping.ts";

export interface ImportOptions {
  readonly collection: string;
  readonly mapping: Mapping;
  /** A unique field or `id`, to replace what is there. */
  readonly key: string | undefined;
  readonly isDryRun: boolean;
}

/** A record that was rejected. */
export interface Rejection {
  readonly line: number;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly ProblemDetail[];
}

export interface ImportProgress {
  /** From 0 to 1. */
  readonly share: number;
  readonly records: number;
  readonly created: number;
  readonly replaced: number;
  readonly rejected: number;
  /** The first ones. */
  readonly rejections: readonly Rejection[];
}

const recordsPerRequest = 2_000;
const bytesPerRequest = 4_000_000;
export const maxRejections = 1_000;

/** The path and the type of the requests, also for "Copy as". */
export function importPath({ collection, key, isDryRun }: ImportOptions, source: Source): string {
  const params = new URLSearchParams();
  if (key !== undefined) params.set("key", key);
  if (isDryRun) params.set("dry-run", "true");
  if (source.format === "csv") params.set("types", "infer");
  const query = params.toString();
  return `/${collection}${query === "" ? "" : `?${query}`}`;
}

export const importType = (source: Source): string =>
  source.format === "csv" ? "text/csv" : "application/x-ndjson";

/** Calls `report` after every request. */
export async function importSource(
  source: Source,
  options: ImportOptions,
  report: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<ImportProgress> {
  let progress: ImportProgress = {
    share: 0,
    records: 0,
    created: 0,
    replaced: 0,
    rejected: 0,
    rejections: [],
  };
  for await (const { share, ...piece } of piecesOf(source, options.mapping)) {
    const result = await sendPiece(source, options, piece, signal);
    progress = { ...add(progress, result), share };
    report(progress);
  }
  return { ...progress, share: 1 };
}

interface Piece {
  readonly body: string;
  /** The line of the file for each line of the body. */
  readonly lines: ReadonlyMap<number, number>;
}

/** Collects records into bodies of one request each. */
async function* piecesOf(
  source: Source,
  mapping: Mapping,
): AsyncGenerator<Piece & { readonly share: number }> {
  const head = source.format === "csv" ? `${mapHeader(source, mapping)}\n` : "";
  let piece = new PieceBuilder(head);
  let sent = 0;
  let isHeader = source.format === "csv";
  for await (const record of recordsOf(source)) {
    if (isHeader) isHeader = false;
    else piece.add(record, mapRecord(source, record, mapping));
    if (!piece.isFull) continue;
    sent += piece.body.length;
    yield { ...piece.build(), share: Math.min(0.99, sent / source.file.size) };
    piece = new PieceBuilder(head);
  }
  if (piece.lines.size > 0) yield { ...piece.build(), share: 0.99 };
}

class PieceBuilder {
  body: string;
  readonly lines = new Map<number, number>();
  #line: number;

  constructor(head: string) {
    this.body = head;
    this.#line = head === "" ? 1 : 2;
  }

  get isFull(): boolean {
    return this.lines.size >= recordsPerRequest || this.body.length >= bytesPerRequest;
  }

  /** A cell may have line breaks, which the server counts. */
  add({ line }: FileRecord, text: string): void {
    this.lines.set(this.#line, line);
    this.body += `${text}\n`;
    this.#line += text.split("\n").length;
  }

  build(): Piece {
    return { body: this.body, lines: this.lines };
  }
}

/** A line of the response: a record that was rejected, or the totals. */
interface ResultLine {
  readonly line?: number;
  readonly status?: number;
  readonly problem?: { readonly detail: string; readonly errors?: readonly ProblemDetail[] };
  readonly lines?: number;
  readonly created?: number;
  readonly replaced?: number;
}

async function sendPiece(
  source: Source,
  options: ImportOptions,
  { body, lines }: Piece,
  signal: AbortSignal,
): Promise<Omit<ImportProgress, "share">> {
  const response = await send(
    {
      method: "POST",
      path: importPath(options, source),
      headers: { "Content-Type": importType(source), Prefer: "return=minimal" },
      body,
    },
    signal,
  );
  const results = (await response.text())
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ResultLine);
  const rejections = results.flatMap((result) => rejectionOf(result, lines));
  const totals = results.at(-1);
  const created = totals?.created ?? 0;
  const replaced = totals?.replaced ?? 0;
  return { records: lines.size, created, replaced, rejected: rejections.length, rejections };
}

function rejectionOf(result: ResultLine, lines: ReadonlyMap<number, number>): readonly Rejection[] {
  const { line, status = 0, problem } = result;
  if (line === undefined || problem === undefined) return [];
  const { detail, errors = [] } = problem;
  return [{ line: lines.get(line) ?? line, status, detail, errors }];
}

function add(one: ImportProgress, other: Omit<ImportProgress, "share">): ImportProgress {
  return {
    share: one.share,
    records: one.records + other.records,
    created: one.created + other.created,
    replaced: one.replaced + other.replaced,
    rejected: one.rejected + other.rejected,
    rejections: [...one.rejections, ...other.rejections].slice(0, maxRejections),
  };
}
