// Lines that arrive, handed on in groups: while one group is on its way to the disk the next is gathered.

import type { Line, LineSplitter } from "../../lib/json/line-splitter.ts";
import type { Reservation } from "../../lib/memory-budget.ts";
import { Problem } from "../../model/problem.ts";

/** Small enough that others who write do not wait long for it. */
const groupLines = 500;
const groupBytes = 1024 * 1024;

/** One is committed, and one is ready for when it is done. */
const maxUnderWay = 2;

/**
 * So much of the results may wait for a client to read them, before no more is read from it. A client
 * that reads nothing until it has sent everything would wait for ever with less.
 */
const maxUnreadChars = 16 * 1024 * 1024;

/** What becomes of a group, in words; it must not reject once there are results of earlier ones. */
export type WriteGroup = (lines: readonly Line[]) => Promise<string>;

const noRoom = new Problem(
  "unavailable",
  "Requests and answers in flight hold as many bytes as the server allows. What was told before was done; send the rest again.",
);

export class NdjsonPipeline {
  readonly #write: WriteGroup;
  readonly #memory: Reservation;
  #lines: Line[] = [];
  #bytes = 0;
  #underWay = 0;
  #underWayBytes = 0;
  /** When the last group is written, and all before it. */
  #written: Promise<void> = Promise.resolve();
  #unread: string[] = [];
  #unreadChars = 0;
  #end: { readonly problem?: Problem } | undefined;
  #failure: { readonly thrown: unknown } | undefined;
  #isLeft = false;
  #news = Promise.withResolvers<void>();

  /** The lines and results that are kept count as held by the reservation, which ends with the results. */
  constructor(write: WriteGroup, memory: Reservation) {
    this.#write = write;
    this.#memory = memory;
  }

  /** The results as they come to be. A problem is the last, and says why no more was read. */
  async *results(
    content: AsyncIterable<Uint8Array | Problem>,
    cutter: LineSplitter,
  ): AsyncGenerator<string | Problem> {
    this.#read(content, cutter).catch((thrown) => this.#fail(thrown));
    try {
      for (;;) {
        if (this.#isLeft) return;
        if (this.#failure !== undefined) throw this.#failure.thrown;
        if (this.#unread.length > 0) yield this.#takeUnread();
        else if (this.#end !== undefined) break;
        else await this.#news.promise;
      }
      if (this.#end.problem !== undefined) yield this.#end.problem;
    } finally {
      this.leave();
    }
  }

  /** The sender has left: it gets no more results, so nothing more is read or written. */
  leave(): void {
    this.#isLeft = true;
    this.#lines = [];
    this.#memory.release();
    this.#tell();
  }

  async #read(content: AsyncIterable<Uint8Array | Problem>, cutter: LineSplitter): Promise<void> {
    let problem: Problem | undefined;
    for await (const chunk of content) {
      if (this.#isLeft) return;
      if (chunk instanceof Problem) problem = chunk;
      else this.#gather(cutter.add(chunk));
      if (!this.#hold(cutter.bufferedBytes)) {
        problem = noRoom;
        break;
      }
      while (this.#isFull() && !this.#isLeft) await this.#news.promise;
    }
    if (this.#isLeft) return;
    // What broke off may have broken off in the middle of a line.
    if (problem === undefined) this.#gather(cutter.end());
    while (this.#lines.length > 0 && !this.#isLeft) await this.#news.promise;
    await this.#written;
    this.#end = problem === undefined ? {} : { problem };
    this.#tell();
  }

  #gather(lines: readonly Line[]): void {
    for (const line of lines) {
      this.#lines.push(line);
      this.#bytes += line.bytes?.length ?? 0;
    }
    this.#launch();
  }

  #hold(unfinishedBytes: number): boolean {
    const bytes = unfinishedBytes + this.#bytes + this.#underWayBytes + this.#unreadChars;
    return this.#memory.set(bytes);
  }

  #hasGroup(): boolean {
    return this.#lines.length >= groupLines || this.#bytes >= groupBytes;
  }

  #isFull(): boolean {
    const isAhead = this.#underWay === maxUnderWay && this.#hasGroup();
    return isAhead || this.#unreadChars > maxUnreadChars;
  }

  /** What little there is goes at once when nothing is under way; else it waits until it is a group. */
  #launch(): void {
    while (this.#lines.length > 0 && !this.#isLeft && this.#failure === undefined) {
      if (this.#underWay === maxUnderWay || (this.#underWay > 0 && !this.#hasGroup())) return;
      const before = this.#bytes;
      const group = this.#takeGroup();
      const bytes = before - this.#bytes;
      this.#underWay++;
      this.#underWayBytes += bytes;
      this.#written = this.#settle(this.#written, this.#write(group), bytes);
    }
  }

  #takeGroup(): readonly Line[] {
    let count = 0;
    let bytes = 0;
    for (const line of this.#lines) {
      if (count === groupLines || (count > 0 && bytes >= groupBytes)) break;
      count++;
      bytes += line.bytes?.length ?? 0;
    }
    this.#bytes -= bytes;
    return this.#lines.splice(0, count);
  }

  /** In the order in which they came, whichever is done first. */
  async #settle(before: Promise<void>, written: Promise<string>, bytes: number): Promise<void> {
    try {
      const [text] = await Promise.all([written, before]);
      if (text !== "") this.#unread.push(text);
      this.#unreadChars += text.length;
    } catch (thrown) {
      this.#fail(thrown);
    }
    this.#underWay--;
    this.#underWayBytes -= bytes;
    this.#launch();
    this.#tell();
  }

  #takeUnread(): string {
    const text = this.#unread.join("");
    this.#unread = [];
    this.#unreadChars = 0;
    this.#tell();
    return text;
  }

  #fail(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#lines = [];
    this.#tell();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
