// Reads a collection as the API exports it, for the command `export`.

import { usageError } from "../lib/cli-error.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { App } from "../server/app.ts";
import { type DataFormat, mediaTypes } from "./data-format.ts";
import type { Progress } from "./progress.ts";
import { localUrl, requireSuccess } from "./system-request.ts";

export interface ExportOptions {
  readonly collection?: string;
  readonly to: string;
  readonly query?: string;
  readonly format?: string;
  readonly overwrite?: boolean;
  readonly json?: boolean;
}

/** What was written of one collection. */
export interface ExportedCollection {
  readonly name: string;
  readonly file: string;
  readonly resources: number;
  readonly bytes: number;
}

export interface ExportSource {
  readonly name: string;
  /** The parameters of a list, as in a URL. */
  readonly query: string;
  readonly format: DataFormat;
}

/** Reads a collection as the API exports it, and shows the progress while `write` takes the bytes. */
export async function readCollection(
  app: App,
  { name, query, format }: ExportSource,
  progress: Progress,
  write: (chunks: AsyncIterable<Uint8Array>, counter: RowCounter) => Promise<void>,
): Promise<void> {
  const type = mediaTypes[format.type];
  const search = query.replace(/^\?/, "");
  const url = localUrl(`/${encodeURIComponent(name)}${search === "" ? "" : `?${search}`}`);
  const sent = await app.systemFetch(new Request(url, { headers: { accept: type } }));
  const response = await requireSuccess(sent, name, (parameter) => `--query ${parameter}`);
  if (response.body === null || !response.headers.get("content-type")?.startsWith(type))
    throw usageError([{ where: "--query", detail: "asks for something that is not a list" }]);
  const isWhole = search === "" || search === ownerFields;
  const found = isWhole ? await app.collections.find(system, name) : undefined;
  const total = found === undefined || found instanceof Problem ? undefined : found.total;
  const step = progress.step(name, { total, unit: "resources" });
  const counter = new RowCounter(format.type);
  const { body } = response;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      step.add(counter.add(chunk));
      yield chunk;
    }
  }
  await write(counted(), counter);
  step.done();
}

/** The whole resource and its owner, as an import of the folder needs it. */
export const ownerFields = "fields=*,_owner";

const lineFeed = 10;
const quote = 34;

class RowCounter {
  readonly #isCsv: boolean;
  #isQuoted = false;
  #lines = 0;

  constructor(type: "ndjson" | "csv") {
    this.#isCsv = type === "csv";
  }

  /** The number of resources so far. The first row of CSV is the header. */
  get rows(): number {
    return this.#isCsv ? Math.max(0, this.#lines - 1) : this.#lines;
  }

  /** Returns how many resources end in these bytes. */
  add(chunk: Uint8Array): number {
    const before = this.rows;
    if (this.#isCsv) this.#addCsv(chunk);
    else
      for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, at + 1))
        this.#lines++;
    return this.rows - before;
  }

  /** A line break within quotes does not end a row. */
  #addCsv(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (byte === quote) this.#isQuoted = !this.#isQuoted;
      else if (byte === lineFeed && !this.#isQuoted) this.#lines++;
    }
  }
}
