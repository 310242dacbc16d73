// Collects a log entry per request and writes the lines in batches.

import { redactSecrets } from "../model/token.ts";
import { addressOf, withoutIpv4Prefix } from "./request/client-address.ts";
import type { RequestContext } from "./request/context.ts";

/** Lines written in a batch cost a third of single lines. */
const maxBatchedLines = 256;
export const maxDelayMs = 100;

interface LogEntry {
  readonly at: number;
  readonly ms: number;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly token: string | undefined;
  /** Empty when it is not known. */
  readonly client: string;
}

export class RequestLog {
  readonly #write: (lines: string) => void;
  #entries: LogEntry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(write: (lines: string) => void) {
    this.#write = write;
  }

  /** Logs the path but never the query, which may contain secrets. */
  add(context: RequestContext, status: number): void {
    const { request, requestId, path, principal, startedAt } = context;
    this.#entries.push({
      at: Date.now(),
      ms: performance.now() - startedAt,
      requestId,
      method: request.method,
      path,
      status,
      token: principal.token?.id,
      client: withoutIpv4Prefix(addressOf(context)),
    });
    if (this.#entries.length === maxBatchedLines) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), maxDelayMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.#entries;
    this.#entries = [];
    let lines = "";
    for (const entry of entries) lines += lineOf(entry);
    if (lines !== "") this.#write(lines);
  }
}

function lineOf({ at, ms, requestId, method, path, status, token, client }: LogEntry): string {
  const tokenMember = token === undefined ? "" : `,"token":"${token}"`;
  const clientMember = client === "" ? "" : `,"client":"${client}"`;
  return `{"level":30,"time":"${timeOf(at)}","requestId":"${requestId}","method":${quoted(method)},"path":${quoted(path)},"status":${status},"ms":${decimal(ms)}${tokenMember}${clientMember}}\n`;
}

let lastAt = 0;
let lastTime = "";

/** Many requests share a millisecond, so the last formatted time is cached. */
function timeOf(at: number): string {
  if (at !== lastAt) {
    lastAt = at;
    lastTime = new Date(at).toISOString();
  }
  return lastTime;
}

const thousandths = Array.from({ length: 1000 }, (_, n) => `.${String(n).padStart(3, "0")}`);

/** Uses a table, because formatting a fraction costs more than the rest of the line. */
function decimal(ms: number): string {
  const micros = Math.round(ms * 1000);
  return Math.floor(micros / 1000) + (thousandths[micros % 1000] ?? "");
}

/** Most paths need no escaping. */
const plain = /^[\w/.~-]*$/;

const quoted = (path: string): string =>
  plain.test(path) && !path.includes("rst_") ? `"${path}"` : JSON.stringify(redactSecrets(path));
