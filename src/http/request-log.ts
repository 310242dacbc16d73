// Collects a log line per request and writes the lines in batches.

import { redactSecrets, type Token } from "../model/token.ts";
import { addressOf, withoutIpv4Prefix } from "./request/client-address.ts";
import type { RequestContext } from "./request/context.ts";

/** Lines written in a batch cost a third of single lines. */
const maxBatchedLines = 1_024;
export const maxDelayMs = 100;

export class RequestLog {
  readonly #write: (lines: string) => void;
  #lines = "";
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(write: (lines: string) => void) {
    this.#write = write;
  }

  /** `more` is further members of the line. */
  add(context: RequestContext, status: number, ms: number, more = ""): void {
    this.#lines += lineOf(context, status, ms, more);
    if (++this.#count === maxBatchedLines) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), maxDelayMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = "";
    this.#count = 0;
    if (lines !== "") this.#write(lines);
  }
}

/** Has the path but never the query, which may contain secrets. */
function lineOf(context: RequestContext, status: number, ms: number, more: string): string {
  const { request, requestId, path, principal, problem } = context;
  const kind = problem === undefined ? "" : `,"problem":"${problem}"`;
  const { token } = principal;
  const caller = token === undefined ? "" : `,"token":"${token.id}"${subjectOf(token)}`;
  const address = withoutIpv4Prefix(addressOf(context));
  const client = address === "" ? "" : `,"client":"${address}"`;
  const trace = context.trace === undefined ? "" : `,"trace":"${context.trace.traceId}"`;
  return `${lineStart()}${requestId}","method":${quoted(request.method)},"path":${quotedPath(path)},"status":${status}${kind},"ms":${decimal(ms)}${caller}${client}${trace}${more}}\n`;
}

/** Most tokens have no subject of their own. */
const subjectOf = ({ id, subject }: Token): string =>
  subject === id ? "" : `,"subject":${quoted(subject)}`;

let startTime = 0;
let start = "";

/** Many requests share a millisecond, so the last start is kept. */
function lineStart(): string {
  const now = Date.now();
  if (now !== startTime) {
    startTime = now;
    start = `{"level":30,"time":"${new Date(now).toISOString()}","requestId":"`;
  }
  return start;
}

const thousandths = Array.from({ length: 1000 }, (_, n) => `.${String(n).padStart(3, "0")}`);

/** Uses a table, because formatting a fraction costs more than the rest of the line. */
function decimal(ms: number): string {
  const micros = Math.round(ms * 1000);
  return Math.floor(micros / 1000) + (thousandths[micros % 1000] ?? "");
}

/** Most texts need no escaping. */
const plain = /^[\w/.~-]*$/;

/** The id of an upload is like a credential: where anyone may create, whoever knows it may continue. */
const uploadPath = /^(\/-\/uploads\/.{6}).+/;

export const loggedPath = (path: string): string => path.replace(uploadPath, "$1…");

const quoted = (text: string): string =>
  plain.test(text) && !text.includes("rst_") ? `"${text}"` : JSON.stringify(redactSecrets(text));

let lastPath = "";
let lastQuoted = '""';

/** Consecutive requests often have the same path. */
function quotedPath(path: string): string {
  if (path !== lastPath) {
    lastPath = path;
    lastQuoted = quoted(loggedPath(path));
  }
  return lastQuoted;
}
