// Writes the log to standard output: one line for each event, as JSON or as text.

import { write, writeSync } from "node:fs";
import { type Logger, pino } from "pino";
import { linesAsText } from "./log-text.ts";
import type { LogFormat, LogLevel } from "./settings.ts";

export type Log = Logger;

/** Writes JSON until a format is set. */
export function createLog(level: LogLevel, descriptor = 1): Log {
  const timestamp = () => `,"time":"${new Date().toISOString()}"`;
  const serializers = { err: describeError };
  const options = { level, base: null, timestamp, serializers, formatters: { log: withReason } };
  return pino(options, new LogOutput(descriptor));
}

/** pino leaves a member that is undefined out, and code can throw undefined. */
const withReason = (members: Record<string, unknown>): Record<string, unknown> =>
  "err" in members && members.err === undefined ? { ...members, err: "undefined" } : members;

/** Code can throw anything. Describing it must not throw, because the request would then have no answer. */
function describeError(thrown: unknown): unknown {
  try {
    return describe(thrown);
  } catch {
    // pino writes to the error, which can be frozen.
  }
  try {
    const { name, message, stack } = Object(thrown);
    return shortened({ type: name, message, stack });
  } catch {
    return "an error whose members cannot be read";
  }
}

/** What Bun throws for a module that it cannot find has its method among its members, and pino would call that. */
function describe(thrown: unknown): unknown {
  if (typeof thrown === "symbol" || typeof thrown === "function") return shorten(String(thrown));
  const described: unknown = pino.stdSerializers.err(thrown as Error);
  if (typeof described !== "object" || described === null) return shorten(described);
  const { toJSON: _, ...members } = described as Record<string, unknown>;
  return shortened(members);
}

const shortened = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, shorten(value)]));

const maxTextChars = 16_384;

/** Keeps the beginning and the end of a text: the frames of a stack follow its message. */
function shorten(value: unknown): unknown {
  if (typeof value !== "string" || value.length <= maxTextChars) return value;
  const half = maxTextChars / 2;
  const left = value.length - maxTextChars;
  return `${value.slice(0, half)} … ${left} characters … ${value.slice(-half)}`;
}

/** The lines of workers are JSON, and the first process writes them in its format. */
export function setLogFormat(log: Log, format: LogFormat): void {
  const output = outputOf(log);
  if (output) output.isText = format === "text" || (format === "auto" && process.stdout.isTTY);
}

/** Writes finished lines of JSON between the log's own, in the same order. */
export function lineWriter(log: Log): (line: string) => void {
  const output = outputOf(log);
  return (line) => output?.write(line);
}

const outputOf = (log: Log): LogOutput | undefined =>
  (log as unknown as Record<symbol, LogOutput>)[pino.symbols.streamSym];

/** Lines are buffered and written together, after this time at the latest. */
const flushIntervalMs = 100;
const flushChars = 65_536;
/** When the reader of the output stalls, lines over this limit are dropped and counted. */
const maxWaitingChars = 8 * 1024 * 1024;

/** Replaces pino's own output, which costs four times as much for the line of each request. */
class LogOutput {
  readonly #descriptor: number;
  #waiting = "";
  #dropped = 0;
  #isWriting = false;
  #onWritten: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  isText = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(line: string): void {
    if (this.#waiting.length > maxWaitingChars) {
      this.#dropped++;
      return;
    }
    this.#waiting += line;
    if (this.#waiting.length > flushChars) this.#send();
    else this.#timer ??= this.#sendSoon();
  }

  #sendSoon(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#send(), flushIntervalMs);
  }

  /** Writes all buffered lines, then calls back. Used before the process exits. */
  flush(done?: (error?: Error) => void): void {
    // The write in progress comes first, and would be lost if the process exited now.
    if (this.#isWriting) {
      this.#onWritten = () => this.flush(done);
      return;
    }
    try {
      let rest = Buffer.from(this.#take());
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#descriptor, rest));
      done?.();
    } catch (error) {
      done?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Lines that come while others are written wait for their end. */
  #send(): void {
    if (this.#isWriting || this.#waiting === "") return;
    this.#isWriting = true;
    this.#writeAll(Buffer.from(this.#take()));
  }

  #writeAll(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, written) => {
      // The error cannot be logged: the output is closed, or full for now.
      const rest = error === null ? bytes.subarray(written) : bytes;
      const isStalled = error?.code === "EAGAIN";
      if (isStalled && !this.#onWritten) setTimeout(() => this.#writeAll(rest), flushIntervalMs);
      else if (error === null && rest.length > 0) this.#writeAll(rest);
      else {
        this.#isWriting = false;
        this.#onWritten?.();
        if (this.#waiting.length > flushChars) this.#send();
        else if (this.#waiting !== "") this.#timer = this.#sendSoon();
      }
    });
  }

  #take(): string {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lost = this.#dropped;
    const lines =
      lost > 0 ? `${this.#waiting}{"level":40,"droppedLines":${lost}}\n` : this.#waiting;
    this.#dropped = 0;
    this.#waiting = "";
    return this.isText ? linesAsText(lines) : lines;
  }
}
