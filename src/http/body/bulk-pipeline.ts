// Groups arriving lines and writes them: while one group is committed, the next is collected and read.

import type { Reservation } from "../../lib/memory-budget.ts";
import { inTurns, nextTurn } from "../../lib/turns.ts";
import { Problem } from "../../model/problem.ts";
import type { BulkLine, LineReader } from "./bulk-lines.ts";

export interface GroupLimits {
  readonly lines: number;
  readonly bytes: number;
  /** Whether a group is written before it is full when nothing else is in flight. */
  readonly isEager: boolean;
}

/** Small enough that other writers do not wait long. */
export const writeGroups: GroupLimits = { lines: 500, bytes: 1024 * 1024, isEager: true };

/** A store has the processor for some milliseconds with these, and not for the time of ten of them. */
export const smallGroups: GroupLimits = { lines: 50, bytes: 128 * 1024, isEager: true };

/** Returns the limits of each next group: small ones while other requests are answered. */
export function groupsBeside(answered: () => number): () => GroupLimits {
  let before = answered();
  return () => {
    const now = answered();
    const isAlone = now === before;
    before = now;
    return isAlone ? writeGroups : smallGroups;
  };
}

/** One group is committed while the next one is ready. */
const maxInFlight = 2;

/**
 * When more results are unread, no more input is read. The limit is large, because a client that reads
 * nothing until it has sent everything would block forever.
 */
const maxUnreadChars = 16 * 1024 * 1024;

/** What becomes of a group, in two steps. */
export interface GroupWork<Operations> {
  read(lines: readonly BulkLine[]): Promise<Operations>;
  /** Returns the result lines; must not reject after the first group. */
  write(operations: Operations): Promise<string>;
}

const outOfMemory = new Problem(
  "unavailable",
  "The requests and responses in flight use all the memory that the server allows for them. The results before this line are stored; send the rest again.",
);

export class BulkPipeline<Operations> {
  readonly #work: GroupWork<Operations>;
  readonly #memory: Reservation;
  readonly #nextLimits: () => GroupLimits;
  /** Of the group that is collected. */
  #limits: GroupLimits;
  #lines: BulkLine[] = [];
  #bytes = 0;
  #inFlight = 0;
  #inFlightBytes = 0;
  /** Resolves when all groups so far are read. */
  #read: Promise<unknown> = Promise.resolve();
  /** Resolves when all groups so far are written. */
  #written: Promise<void> = Promise.resolve();
  #unread: string[] = [];
  #unreadChars = 0;
  #end: { readonly problem?: Problem } | undefined;
  #failure: { readonly thrown: unknown } | undefined;
  /** Whether all lines are read. */
  #isEnded = false;
  #isAborted = false;
  #progress = Promise.withResolvers<void>();

  /** Buffered lines and results are counted in `memory`, which is released with the last result. */
  constructor(work: GroupWork<Operations>, memory: Reservation, nextLimits = () => writeGroups) {
    this.#work = work;
    this.#memory = memory;
    this.#nextLimits = nextLimits;
    this.#limits = nextLimits();
  }

  /** Yields the results as they are ready. A problem is the last and says why reading stopped. */
  async *results(
    content: AsyncIterable<Uint8Array | Problem>,
    reader: LineReader,
  ): AsyncGenerator<string | Problem> {
    this.#readLines(content, reader).catch((thrown) => this.#fail(thrown));
    try {
      for (;;) {
        if (this.#isAborted) return;
        if (this.#failure !== undefined) throw this.#failure.thrown;
        if (this.#unread.length > 0) yield this.#takeUnread();
        else if (this.#end !== undefined) break;
        else await this.#progress.promise;
      }
      if (this.#end.problem !== undefined) yield this.#end.problem;
    } finally {
      this.abort();
    }
  }

  /** The client has disconnected: nothing more is read or written. */
  abort(): void {
    this.#isAborted = true;
    this.#lines = [];
    this.#memory.release();
    this.#notify();
  }

  async #readLines(
    content: AsyncIterable<Uint8Array | Problem>,
    reader: LineReader,
  ): Promise<void> {
    let problem: Problem | undefined;
    for await (const chunk of inTurns(content)) {
      if (this.#isAborted) return;
      problem = chunk instanceof Problem ? chunk : this.#addLines(reader.add(chunk));
      if (problem === undefined && !this.#reserve(reader.bufferedBytes)) problem = outOfMemory;
      if (problem !== undefined) break;
      while (this.#isFull() && !this.#isAborted) await this.#progress.promise;
    }
    if (this.#isAborted) return;
    // An aborted body may end in the middle of a line, which is then ignored.
    problem ??= this.#addLines(reader.end());
    this.#isEnded = true;
    this.#startWrites();
    while (this.#lines.length > 0 && !this.#isAborted) await this.#progress.promise;
    await this.#written;
    this.#end = problem === undefined ? {} : { problem };
    this.#notify();
  }

  #addLines(lines: readonly BulkLine[] | Problem): Problem | undefined {
    if (lines instanceof Problem) return lines;
    for (const line of lines) {
      this.#lines.push(line);
      this.#bytes += line.size;
    }
    this.#startWrites();
    return undefined;
  }

  #reserve(unfinishedBytes: number): boolean {
    const bytes = unfinishedBytes + this.#bytes + this.#inFlightBytes + this.#unreadChars;
    return this.#memory.set(bytes);
  }

  #hasGroup(): boolean {
    const { lines, bytes } = this.#limits;
    return this.#isEnded || this.#lines.length >= lines || this.#bytes >= bytes;
  }

  #isFull(): boolean {
    const isAhead = this.#inFlight === maxInFlight && this.#hasGroup();
    return isAhead || this.#unreadChars > maxUnreadChars;
  }

  /** Writes at once when nothing is in flight; otherwise waits for a full group. */
  #startWrites(): void {
    while (this.#lines.length > 0 && !this.#isAborted && this.#failure === undefined) {
      const isEarly = !this.#hasGroup() && (this.#inFlight > 0 || !this.#limits.isEager);
      if (this.#inFlight === maxInFlight || isEarly) return;
      const bufferedBytes = this.#bytes;
      const group = this.#takeGroup();
      const bytes = bufferedBytes - this.#bytes;
      this.#inFlight++;
      this.#inFlightBytes += bytes;
      const before = this.#written;
      // Each step of each group begins with a turn of its own.
      const read = this.#read.then(nextTurn).then(() => this.#work.read(group));
      this.#read = read;
      // Groups are written one after another, so that the order of creation is that of the lines.
      const written = Promise.all([read, before.then(nextTurn)]).then(([operations]) =>
        this.#failure === undefined ? this.#work.write(operations) : "",
      );
      this.#written = this.#finishGroup(before, written, bytes);
    }
  }

  #takeGroup(): readonly BulkLine[] {
    const limits = this.#limits;
    let count = 0;
    let bytes = 0;
    for (const line of this.#lines) {
      if (count === limits.lines || (count > 0 && bytes >= limits.bytes)) break;
      count++;
      bytes += line.size;
    }
    this.#bytes -= bytes;
    this.#limits = this.#nextLimits();
    return this.#lines.splice(0, count);
  }

  /** Emits the results in the order of the groups. */
  async #finishGroup(
    before: Promise<void>,
    written: Promise<string>,
    bytes: number,
  ): Promise<void> {
    try {
      const [text] = await Promise.all([written, before]);
      if (text !== "") this.#unread.push(text);
      this.#unreadChars += text.length;
    } catch (thrown) {
      this.#fail(thrown);
    }
    this.#inFlight--;
    this.#inFlightBytes -= bytes;
    this.#startWrites();
    this.#notify();
  }

  #takeUnread(): string {
    const text = this.#unread.join("");
    this.#unread = [];
    this.#unreadChars = 0;
    this.#notify();
    return text;
  }

  #fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#lines = [];
    this.#notify();
  }

  #notify(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }
}
