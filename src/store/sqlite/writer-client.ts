// Carries batches to the writer's thread and outcomes back; takes on a new writer when one dies.

import { Worker } from "node:worker_threads";
import type { Committer } from "../remote-committer.ts";
import { type Change, Outage, type Outcome } from "../store.ts";
import type { DatabaseFile } from "./file.ts";
import {
  type Message,
  packChanges,
  type Reply,
  type SuspectNotice,
  unpackOutcomes,
  type WriterData,
} from "./message-codec.ts";

/** Told what an operator should know although no request may have failed. */
export type Report = (level: "error" | "info", message: string) => void;

export interface CourierOptions {
  readonly report?: Report | undefined;
  /** How long deleted content may stay in the files before its erasure begins. */
  readonly eraseAfterMs?: number | undefined;
}

/** A failure of a disk often passes in less; what lasts longer is tried more and more rarely. */
const firstRepairMs = 500;
const longestRepairMs = 30_000;

export class WriterClient implements Committer {
  readonly #script: URL;
  readonly #report: Report;
  readonly #eraseAfterMs: number | undefined;
  /** Sent and not yet answered: the writer answers in order. */
  readonly #pending: PromiseWithResolvers<Reply>[] = [];
  #file: DatabaseFile;
  #worker: Worker | undefined;
  #trouble: string | undefined;
  /** Why no batch is sent to the writer until the database is repaired. */
  #suspicion: string | undefined;
  #repairTimer: NodeJS.Timeout | undefined;
  #nextRepairMs = firstRepairMs;
  #isClosed = false;

  constructor(file: DatabaseFile, script: URL, options: CourierOptions = {}) {
    this.#file = file;
    this.#script = script;
    this.#report = options.report ?? (() => undefined);
    this.#eraseAfterMs = options.eraseAfterMs;
  }

  /** Why the last attempt to write failed, if it did. */
  get trouble(): string | undefined {
    return this.#suspicion ?? this.#trouble;
  }

  /** No changes at all: shows whether writing works. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#suspicion !== undefined) throw new Outage("suspect", this.#suspicion);
    const reply = await this.#send(packChanges(changes));
    if (reply.kind === "done") {
      this.#trouble = undefined;
      return unpackOutcomes(changes, reply.verdicts);
    }
    if (reply.kind !== "outage") throw new Error(`the writer failed: ${messageOf(reply)}`);
    this.#trouble = reply.message;
    throw new Outage(reply.reason, reply.message);
  }

  /** Has a suspect database replaced by a verified copy; without success it is tried again later. */
  async repair(): Promise<void> {
    clearTimeout(this.#repairTimer);
    const [result] = await Promise.allSettled([this.#send("repair")]);
    if (result.status === "fulfilled" && result.value.kind === "repaired") {
      this.#file = { ...this.#file, identity: result.value.identity };
      if (this.#suspicion !== undefined)
        this.#report("info", "the database was copied to new files and verified: writes go on");
      this.#suspicion = undefined;
      this.#trouble = undefined;
      this.#nextRepairMs = firstRepairMs;
      return;
    }
    const reason = result.status === "fulfilled" ? messageOf(result.value) : String(result.reason);
    this.#doubt(
      `the database cannot be copied to new files (${reason}): reads go on, writes do not`,
    );
    this.#repairLater();
  }

  /** When all that was sent is answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending.map((errand) => errand.promise));
  }

  /** Has the writer finish, close its file and go. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#repairTimer);
    const worker = this.#worker;
    if (!worker) return;
    await Promise.allSettled([this.#send("close")]);
    this.#worker = undefined;
    await worker.terminate();
  }

  #send(message: Message): Promise<Reply> {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage(message);
    const errand = Promise.withResolvers<Reply>();
    this.#pending.push(errand);
    return errand.promise;
  }

  #startWorker(): Worker {
    const data: WriterData = { file: this.#file, eraseAfterMs: this.#eraseAfterMs };
    const worker = new Worker(this.#script, { workerData: data });
    worker.on("message", (message: Reply | SuspectNotice) => {
      if (message.kind !== "suspect") return this.#pending.shift()?.resolve(message);
      this.#doubt(`${message.message}: it is copied to new files now`);
      this.#repairLater();
    });
    worker.on("error", (error) => this.#lose(worker, String(error)));
    worker.on("exit", (code) => this.#lose(worker, `exit code ${code}`));
    return worker;
  }

  /** Takes no more writes, and tells why, once for each reason. */
  #doubt(reason: string): void {
    if (reason !== this.#suspicion) this.#report("error", reason);
    this.#suspicion = reason;
  }

  #repairLater(): void {
    clearTimeout(this.#repairTimer);
    if (this.#isClosed) return;
    this.#repairTimer = setTimeout(() => void this.repair(), this.#nextRepairMs).unref();
    this.#nextRepairMs = Math.min(2 * this.#nextRepairMs, longestRepairMs);
  }

  /** What was on its way may or may not have been committed: only the writer knew. */
  #lose(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#trouble = `the writer stopped unexpectedly: ${reason}`;
    const outage = new Outage("unknown", this.#trouble);
    for (const errand of this.#pending.splice(0)) errand.reject(outage);
  }
}

const messageOf = (reply: Reply): string => ("message" in reply ? reply.message : reply.kind);
