// The log lines of requests: noted in a moment on the hot path, written out many at a time.

import type { Exchange } from "./exchange.ts";
import { withoutSecrets } from "./problem.ts";

/** Written one after another they cost a third of what they cost between two requests. */
const linesAtOnce = 256;
export const longestWaitMs = 100;

interface Note {
  readonly at: number;
  readonly ms: number;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly token: string | undefined;
  readonly client: string | undefined;
}

export class RequestLog {
  readonly #write: (lines: string) => void;
  #notes: Note[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(write: (lines: string) => void) {
    this.#write = write;
  }

  /** The path but never the query, for that may hold what must not be shown. */
  note(exchange: Exchange, status: number): void {
    const { request, requestId, path, caller, clientAddress, startedAt } = exchange;
    this.#notes.push({
      at: Date.now(),
      ms: performance.now() - startedAt,
      requestId,
      method: request.method,
      path,
      status,
      token: caller?.id,
      client: clientAddress,
    });
    if (this.#notes.length === linesAtOnce) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), longestWaitMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = this.#notes;
    this.#notes = [];
    if (notes.length > 0) this.#write(notes.map(lineOf).join(""));
  }
}

function lineOf({ at, ms, requestId, method, path, status, token, client }: Note): string {
  const time = new Date(at).toISOString();
  const rounded = Math.round(ms * 1000) / 1000;
  const who = token === undefined ? "" : `,"token":"${token}"`;
  const whence = client === undefined ? "" : `,"client":"${client}"`;
  return `{"level":30,"time":"${time}","requestId":"${requestId}","method":"${method}","path":${JSON.stringify(withoutSecrets(path))},"status":${status},"ms":${rounded}${who}${whence}}\n`;
}
