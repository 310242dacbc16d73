// Carries batches to the writer's thread and outcomes back; takes on a new writer when one dies.

import { Worker } from "node:worker_threads";
import type { Committer } from "../handed.ts";
import { type Change, Outage, type Outcome } from "../store.ts";
import type { DatabaseFile } from "./file.ts";
import { type Message, packChanges, type Reply, unpackOutcomes } from "./wire.ts";

export class Courier implements Committer {
  readonly #file: DatabaseFile;
  readonly #script: URL;
  /** Sent and not yet answered: the writer answers in order. */
  readonly #errands: PromiseWithResolvers<Reply>[] = [];
  #worker: Worker | undefined;
  #trouble: string | undefined;

  constructor(file: DatabaseFile, script: URL) {
    this.#file = file;
    this.#script = script;
  }

  /** Why the last attempt to write failed, if it did. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** No changes at all: shows whether writing works. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const reply = await this.#send(packChanges(changes));
    if (reply.kind === "done") {
      this.#trouble = undefined;
      return unpackOutcomes(changes, reply.verdicts);
    }
    if (reply.kind !== "outage") throw new Error(`the writer failed: ${reply.message}`);
    this.#trouble = reply.message;
    throw new Outage(reply.reason, reply.message);
  }

  /** When all that was sent is answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#errands.map((errand) => errand.promise));
  }

  /** Has the writer finish, close its file and go. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    await Promise.allSettled([this.#send("close")]);
    this.#worker = undefined;
    await worker.terminate();
  }

  #send(message: Message): Promise<Reply> {
    this.#worker ??= this.#hire();
    this.#worker.postMessage(message);
    const errand = Promise.withResolvers<Reply>();
    this.#errands.push(errand);
    return errand.promise;
  }

  #hire(): Worker {
    const worker = new Worker(this.#script, { workerData: this.#file });
    worker.on("message", (reply: Reply) => this.#errands.shift()?.resolve(reply));
    worker.on("error", (error) => this.#lose(worker, String(error)));
    worker.on("exit", (code) => this.#lose(worker, `exit code ${code}`));
    return worker;
  }

  /** What was on its way may or may not have been committed: only the writer knew. */
  #lose(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#trouble = `the writer stopped unexpectedly: ${reason}`;
    const outage = new Outage("unknown", this.#trouble);
    for (const errand of this.#errands.splice(0)) errand.reject(outage);
  }
}
