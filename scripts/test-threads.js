// Loaded before the tests of `npm test`: the stores in the process of a test start their threads from a bundle, and one writer thread serves them one after another.

import { EventEmitter } from "node:events";
import { isMainThread, Worker } from "node:worker_threads";

/** Writers that were closed, by script. A new one takes as long as three small tests. */
const idle = new Map();

const events = ["message", "error", "exit"];

/** A `Worker` whose thread stays for the next store when it has closed its file. */
class KeptWorker extends EventEmitter {
  #script;
  #worker;
  #isClosed = false;

  constructor(script) {
    super();
    this.#script = script.href;
    this.#worker = idle.get(this.#script)?.pop() ?? new Worker(script);
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
    idle.set(this.#script, [...(idle.get(this.#script) ?? []), this.#worker]);
  }
}

if (isMainThread) {
  await import("./test-bundles.js");
  const { writerThreads } = await import("../src/store/sqlite/writer-client.ts");
  writerThreads.start = (script) => new KeptWorker(script);
}
