// Loaded before the tests of a run of all files: one writer thread serves their stores one after another.

import { EventEmitter } from "node:events";
import { isMainThread, Worker } from "node:worker_threads";

/** Threads whose store was closed, by script. A new one takes as long as three small tests. */
const idle = {};
const events = ["message", "error", "exit"];

/** A `Worker` whose thread stays for the next store when it has closed its file. */
class KeptWorker extends EventEmitter {
  #idle;
  #worker;
  #isClosed = false;

  constructor(script) {
    super();
    this.#idle = idle[script.href] ??= [];
    this.#worker = this.#idle.pop() ?? new Worker(script);
    this.#worker.ref();
    for (const event of events) this.#worker.on(event, (value) => this.emit(event, value));
    this.#worker.on("exit", () => {
      this.#isClosed = false;
    });
  }

  postMessage(message) {
    this.#isClosed = message === "close";
    this.#worker.postMessage(message);
  }

  async terminate() {
    if (!this.#isClosed) return this.#worker.terminate();
    for (const event of events) this.#worker.removeAllListeners(event);
    this.#worker.unref();
    this.#idle.push(this.#worker);
  }
}

if (isMainThread) {
  const { writerThreads } = await import("../src/store/sqlite/writer-client.ts");
  writerThreads.start = (script) => new KeptWorker(script);
}
