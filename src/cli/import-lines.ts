// Imports the lines of one input through the API's own import, and counts what becomes of them.

import { CliError } from "../lib/cli-error.ts";
import { pulledStream } from "../lib/pulled-stream.ts";
import type { ProblemBody } from "../model/schemas/problem.ts";
import type { App } from "../server/app.ts";
import { type DataFormat, mediaTypes } from "./data-format.ts";
import { localUrl, problemText, requireSuccess } from "./system-request.ts";

export interface LineImport {
  readonly collection: string;
  readonly format: DataFormat;
  readonly key: string | undefined;
  readonly isDryRun: boolean;
  /** Further parameters of the API: `types` and `separator`. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly encoding: string | undefined;
  /** The id of a new resource, without a key. */
  readonly idOf?: ((line: number) => string) | undefined;
  /** Lines that are left out. */
  readonly isSkipped?: ((line: number) => boolean) | undefined;
}

export interface RejectedLine {
  readonly line: number;
  readonly status: number;
  readonly detail: string;
}

export class ImportCount {
  lines = 0;
  created = 0;
  replaced = 0;
  /** Lines that an earlier run of the same import has created. */
  existing = 0;
  rejected = 0;
  /** The last line that is stored or rejected. */
  lastLine = 0;
}

/** Calls `onRejected` for each line that is not stored. Rejects when the import cannot go on. */
export async function importLines(
  app: App,
  work: LineImport,
  chunks: AsyncIterable<Uint8Array>,
  onRejected: (rejected: RejectedLine) => void,
): Promise<ImportCount> {
  const count = new ImportCount();
  const stop = new AbortController();
  const failure: { thrown?: unknown } = {};
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks;
    } catch (thrown) {
      failure.thrown = thrown;
      throw thrown;
    }
  }
  const request = requestFor(work, watched(), stop.signal);
  const { collection, idOf, isSkipped } = work;
  try {
    const sent = await app.systemFetch(request, { idOf, isSkipped });
    if ("thrown" in failure) throw failure.thrown;
    const { body } = await requireSuccess(sent, collection, (parameter) => `--${parameter}`);
    for await (const line of linesOf(body)) addResult(count, line, work, onRejected);
  } catch (thrown) {
    stop.abort();
    const cause = "thrown" in failure ? failure.thrown : thrown;
    if (count.lastLine === 0 || !(cause instanceof CliError)) throw cause;
    throw new CliError(1, `${cause.message} It stopped after line ${count.lastLine}.`, { cause });
  }
  return count;
}

function requestFor(
  { collection, format, key, isDryRun, parameters, encoding }: LineImport,
  chunks: AsyncGenerator<Uint8Array>,
  signal: AbortSignal,
): Request {
  const query = new URLSearchParams();
  const all = { key, ...(isDryRun && { "dry-run": "true" }), ...parameters };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, value);
  const charset = encoding === undefined ? "" : `; charset=${encoding}`;
  const init: RequestInit & { readonly duplex: "half" } = {
    method: "POST",
    headers: {
      "content-type": `${mediaTypes[format.type]}${charset}`,
      "transfer-encoding": "chunked",
    },
    body: pulledStream(chunks),
    // A stream as a body needs it.
    duplex: "half",
    signal,
  };
  return new Request(localUrl(`/${encodeURIComponent(collection)}?${query}`), init);
}

const resultHead = /^\{"line":(\d{1,15}),"status":(\d{3})/;

function addResult(
  count: ImportCount,
  text: string,
  { idOf }: LineImport,
  onRejected: (rejected: RejectedLine) => void,
): void {
  const [, number, code] = resultHead.exec(text) ?? [];
  const status = Number(code);
  // Without a number it is about the whole input.
  if (number === undefined || status >= 500) throw new CliError(1, problemText(problemIn(text)));
  const line = Number(number);
  count.lines++;
  count.lastLine = line;
  if (status === 201) count.created++;
  else if (status === 200) count.replaced++;
  else if (status === 412 && idOf !== undefined) count.existing++;
  else {
    count.rejected++;
    onRejected({ line, status, detail: withFlag(problemText(problemIn(text))) });
  }
}

/** The problems of the API name its parameter. */
const withFlag = (detail: string): string =>
  detail.replace("send ?key=id", "use --key id").replace("?key=id", "--key id");

const problemIn = (text: string): ProblemBody =>
  (JSON.parse(text) as { problem: ProblemBody }).problem;

async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
