// The log lines of requests: noted in a moment on the hot path, written out many at a time.

import { redactSecrets } from "../model/token.ts";
import type { RequestContext } from "./context.ts";
import { addressOf, plainAddress } from "./rate-limit.ts";

/** Written one after another they cost a third of what they cost between two requests. */
const linesAtOnce = 256;
export const longestWaitMs = 100;

interface LogEntry {
  readonly at: number;
  readonly ms: number;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly token: string | undefined;
  /** Empty where it is not known. */
  readonly client: string;
}

export class RequestLog {
  readonly #write: (lines: string) => void;
  #notes: LogEntry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(write: (lines: string) => void) {
    this.#write = write;
  }

  /** The path but never the query, for that may hold what must not be shown. */
  note(context: RequestContext, status: number): void {
    const { request, requestId, path, caller, startedAt } = context;
    this.#notes.push({
      at: Date.now(),
      ms: performance.now() - startedAt,
      requestId,
      method: request.method,
      path,
      status,
      token: caller?.id,
      client: plainAddress(addressOf(context)),
    });
    if (this.#notes.length === linesAtOnce) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), longestWaitMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = this.#notes;
    this.#notes = [];
    let lines = "";
    for (const note of notes) lines += lineOf(note);
    if (lines !== "") this.#write(lines);
  }
}

function lineOf({ at, ms, requestId, method, path, status, token, client }: LogEntry): string {
  const who = token === undefined ? "" : `,"token":"${token}"`;
  const whence = client === "" ? "" : `,"client":"${client}"`;
  return `{"level":30,"time":"${timeOf(at)}","requestId":"${requestId}","method":${quoted(method)},"path":${quoted(path)},"status":${status},"ms":${decimal(ms)}${who}${whence}}\n`;
}

let lastAt = 0;
let lastTime = "";

/** Many requests share a millisecond, so it is spelled out once. */
function timeOf(at: number): string {
  if (at !== lastAt) {
    lastAt = at;
    lastTime = new Date(at).toISOString();
  }
  return lastTime;
}

const thousandths = Array.from({ length: 1000 }, (_, n) => `.${String(n).padStart(3, "0")}`);

/** From a table: to find the shortest spelling of a fraction costs more than the rest of the line. */
function decimal(ms: number): string {
  const micros = Math.round(ms * 1000);
  return Math.floor(micros / 1000) + (thousandths[micros % 1000] ?? "");
}

/** What an address mostly is: nothing in it has to be escaped. */
const plain = /^[\w/.~-]*$/;

const quoted = (path: string): string =>
  plain.test(path) && !path.includes("rst_") ? `"${path}"` : JSON.stringify(redactSecrets(path));
