// Collects a log line per request and writes the lines in batches.

import { withoutIpv4Prefix } from "../lib/ip-address.ts";
import type { Principal } from "../model/principal.ts";
import { redactSecrets, secretPrefix } from "../model/secret.ts";
import { addressOf } from "./request/client-address.ts";
import type { RequestContext } from "./request/context.ts";
import { isProbe } from "./request/probe.ts";

/** Lines written in a batch cost a third of single lines. In larger batches they have left the processor's cache. */
const maxBatchedLines = 64;
export const maxDelayMs = 100;

export class RequestLog {
  readonly #write: (lines: string) => void;
  #lines: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(write: (lines: string) => void) {
    this.#write = write;
  }

  /** Leaves out probes that find nothing wrong. `more` is further members of the line. */
  add(context: RequestContext, status: number, ms: number, more = ""): void {
    if (status < 400 && isProbe(context)) return;
    this.#lines.push(lineOf(context, status, ms, more));
    if (this.#lines.length === maxBatchedLines) this.#send();
    else this.#timer ??= setTimeout(() => this.flush(), maxDelayMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length > 0) this.#send();
  }

  #send(): void {
    const lines = this.#lines;
    this.#lines = [];
    this.#write(lines.join(""));
  }
}

function lineOf(context: RequestContext, status: number, ms: number, more: string): string {
  const { method, requestId, principal, problem, trace, services } = context;
  const what = whatOf(method, services.apiPath + context.path, status);
  const who = whoOf(principal, addressOf(context));
  const kind = problem === undefined ? "" : `,"problem":"${problem}"`;
  const traced = trace === undefined ? "" : `,"trace":"${trace.traceId}"`;
  return `${lineStart(context.startTime + ms)}${requestId}${what}${kind},"ms":${decimal(ms)}${who}${traced}${more}}\n`;
}

/** Has the path but never the query, which may contain secrets. */
const whatOf = lastText(
  (method: string, path: string, status: number) =>
    `${methodOf(method)}${quoted(loggedPath(path))},"status":${status}`,
);

const methodOf = lastText((method: string) => `","method":${quoted(method)},"path":`);

const whoOf = lastText(({ credential, subject = "" }: Principal, address: string) => {
  const id = credential?.id;
  // Most tokens have no subject of their own.
  const owner = subject === id ? "" : `,"subject":${quoted(subject)}`;
  const caller = credential === undefined ? "" : `,"${credential.kind}":"${id}"${owner}`;
  return address === "" ? caller : `${caller},"client":"${withoutIpv4Prefix(address)}"`;
});

/** Keeps the last text: consecutive requests often have the same path and caller. */
function lastText<A, B = void, C = void>(
  make: (a: A, b: B, c: C) => string,
): (a: A, b: B, c: C) => string {
  let last: { a: A; b: B; c: C; text: string } | undefined;
  return (a, b, c) => {
    if (last === undefined || last.a !== a || last.b !== b || last.c !== c)
      last = { a, b, c, text: make(a, b, c) };
    return last.text;
  };
}

let startTime = 0;
let start = "";

/** Many requests share a millisecond, so the last start is kept. */
function lineStart(time: number): string {
  const millisecond = Math.floor(time);
  if (millisecond !== startTime) {
    startTime = millisecond;
    start = `{"level":30,"time":"${new Date(millisecond).toISOString()}","requestId":"`;
  }
  return start;
}

const thousandths = Array.from({ length: 1000 }, (_, n) => (n / 1000).toFixed(3));

/** Uses a table, because formatting a fraction costs more than the rest of the line. */
const decimal = (ms: number): string => thousandths[Math.round(ms * 1000)] ?? ms.toFixed(3);

/** Most texts need no escaping. */
const plain = /^[\w/.~-]*$/;

/** The id of an upload is like a credential: where anyone may create, whoever knows it may continue. */
const uploadPath = /(\/-\/uploads\/.{6}).+/;

export const loggedPath = (path: string): string =>
  path.includes("/-/") ? path.replace(uploadPath, "$1…") : path;

const quoted = (text: string): string =>
  plain.test(text) && !secretPrefix.test(text) ? `"${text}"` : JSON.stringify(redactSecrets(text));
