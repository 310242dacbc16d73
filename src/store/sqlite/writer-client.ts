// Sends batches to the writer thread and receives the outcomes; starts a new thread when one crashes.

import { Worker } from "node:worker_threads";
import { Outage } from "../../model/outage.ts";
import { type EraseAnswer, type Erasing, erasingOver } from "../erasure.ts";
import type { Committer } from "../remote-committer.ts";
import type { Change, Outcome } from "../store.ts";
import type { DatabaseOptions } from "./database.ts";
import type { DatabaseFile } from "./file.ts";
import { afterSwap, hasLitestream } from "./other-programs.ts";
import {
  type Message,
  type Notice,
  type OpenRequest,
  type PackedOutcomes,
  packChanges,
  unpackOutcomes,
  type WriterReply,
} from "./writer-messages.ts";

/** Logs events that an operator should know, even when no request has failed. */
export type Report = (level: "error" | "info", message: string) => void;

export interface WriterClientOptions extends DatabaseOptions {
  readonly report?: Report | undefined;
}

/** The pause before a repair is repeated; it doubles after each failure. */
const firstRepairMs = 500;
const longestRepairMs = 30_000;

/** The tests use a thread again that was closed. */
export const writerThreads = { start: (script: URL): Worker => new Worker(script) };

export class WriterClient implements Committer {
  readonly #script: URL;
  readonly #report: Report;
  readonly #options: DatabaseOptions;
  readonly erase: Erasing["erase"];
  readonly scrub: Erasing["scrub"];
  /** Requests without an answer yet; the writer answers in order. */
  readonly #pending: PromiseWithResolvers<WriterReply>[] = [];
  #file: DatabaseFile;
  #worker: Worker | undefined;
  #failure: string | undefined;
  /** Why batches are rejected until the database is repaired. */
  #suspectReason: string | undefined;
  #repairTimer: NodeJS.Timeout | undefined;
  #nextRepairMs = firstRepairMs;
  #isClosed = false;
  /** How many times a copy has replaced the database after the disk had failed. */
  rescues = 0;

  constructor(file: DatabaseFile, script: URL, options: WriterClientOptions = {}) {
    this.#file = file;
    this.#script = script;
    this.#report = options.report ?? (() => undefined);
    const { eraseAfterMs, retention, checkpointCount, fileQuotas } = options;
    this.#options = { eraseAfterMs, retention, checkpointCount, fileQuotas };
    const { erase, scrub } = erasingOver((request) => this.#ask(request));
    this.erase = erase;
    this.scrub = scrub;
  }

  /** Why the last write failed; undefined when it succeeded. */
  get lastError(): string | undefined {
    return this.#suspectReason ?? this.#failure;
  }

  /** An empty list of changes tests whether writes work. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const reply = await this.#ask(packChanges(changes));
    return unpackOutcomes(changes, "kind" in reply ? [] : reply);
  }

  /** Replaces a suspect database by a verified copy; after a failure it tries again later. */
  async repair(): Promise<void> {
    clearTimeout(this.#repairTimer);
    const [result] = await Promise.allSettled([this.#send("repair")]);
    if (
      result.status === "fulfilled" &&
      "kind" in result.value &&
      result.value.kind === "repaired"
    ) {
      this.#file = { ...this.#file, identity: result.value.identity };
      if (this.#suspectReason !== undefined) this.#tellRescued();
      this.#suspectReason = undefined;
      this.#failure = undefined;
      this.#nextRepairMs = firstRepairMs;
      return;
    }
    const reason = result.status === "fulfilled" ? messageOf(result.value) : String(result.reason);
    this.#stopWrites(
      `the database cannot be copied to new files (${reason}): reads still work, writes are rejected`,
    );
    this.#repairLater();
  }

  #tellRescued(): void {
    this.rescues++;
    this.#report(
      "info",
      "the database was copied to new files and verified: writes are possible again",
    );
    if (hasLitestream(this.#file)) this.#report("error", afterSwap);
  }

  /** Resolves when every request is answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending.map((request) => request.promise));
  }

  /** Lets the writer finish its work and close its file, then stops it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#repairTimer);
    const worker = this.#worker;
    if (!worker) return;
    await Promise.allSettled([this.#send("close")]);
    this.#worker = undefined;
    await worker.terminate();
  }

  async #ask(message: Message): Promise<PackedOutcomes | EraseAnswer> {
    if (this.#suspectReason !== undefined) throw new Outage("suspect", this.#suspectReason);
    const reply = await this.#send(message);
    if (!("kind" in reply) || reply.kind === "erased" || reply.kind === "scrubbed") {
      this.#failure = undefined;
      return reply;
    }
    if (reply.kind !== "outage") throw new Error(`the writer failed: ${messageOf(reply)}`);
    this.#failure = reply.message;
    throw new Outage(reply.reason, reply.message);
  }

  #send(message: Message): Promise<WriterReply> {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage(message);
    const request = Promise.withResolvers<WriterReply>();
    this.#pending.push(request);
    return request.promise;
  }

  #startWorker(): Worker {
    const worker = writerThreads.start(this.#script);
    worker.on("message", (message: WriterReply | Notice) => {
      if (!isNotice(message)) return this.#pending.shift()?.resolve(message);
      if (message.kind === "error") return this.#report("error", message.message);
      this.#stopWrites(`${message.message}: copying the database to new files`);
      this.#repairLater();
    });
    worker.on("error", (error) => this.#handleExit(worker, String(error)));
    worker.on("exit", (code) => this.#handleExit(worker, `exit code ${code}`));
    const request: OpenRequest = { kind: "open", file: this.#file, options: this.#options };
    worker.postMessage(request);
    return worker;
  }

  /** Rejects further writes, and logs each reason once. */
  #stopWrites(reason: string): void {
    if (reason !== this.#suspectReason) this.#report("error", reason);
    this.#suspectReason = reason;
  }

  #repairLater(): void {
    clearTimeout(this.#repairTimer);
    if (this.#isClosed) return;
    this.#repairTimer = setTimeout(() => void this.repair(), this.#nextRepairMs).unref();
    this.#nextRepairMs = Math.min(2 * this.#nextRepairMs, longestRepairMs);
  }

  /** Pending changes may or may not have been committed. */
  #handleExit(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#failure = `the writer stopped unexpectedly: ${reason}`;
    const outage = new Outage("unknown", this.#failure);
    for (const request of this.#pending.splice(0)) request.reject(outage);
  }
}

const isNotice = (message: WriterReply | Notice): message is Notice =>
  "kind" in message && (message.kind === "suspect" || message.kind === "error");

const messageOf = (reply: WriterReply): string =>
  "message" in reply ? reply.message : "an unexpected reply";
