// Many processes on one port: the first starts them, writes for them, and replaces the ones that die.

import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  type Answer,
  type CommitRequest,
  type Committer,
  runCommitRequest,
} from "../store/remote-committer.ts";
import type { Config } from "./config.ts";
import { type Log, lineWriter } from "./log.ts";

/** What the first process tells a worker. */
export type Order = { readonly kind: "work"; readonly config: Config } | Answer;
/** What a worker tells the first process. */
export type Report =
  | { readonly kind: "listening" }
  | { readonly kind: "failed"; readonly message: string }
  | CommitRequest;

/** One that dies sooner is replaced a little later, lest the machine does nothing but start workers. */
const shortLifeMs = 1_000;
/** What a worker may take beyond the time that it has for what is in flight. */
const stuckMs = 1_000;

const program = fileURLToPath(new URL(`../main${extname(import.meta.url)}`, import.meta.url));

export class Supervisor {
  readonly #config: Config;
  readonly #commit: Committer["commit"];
  readonly #log: Log;
  readonly #writeLine: (line: string) => void;
  readonly #living = new Set<ChildProcess>();
  #isStopping = false;

  /** The config has a real port, which all of them share. */
  constructor(config: Config, commit: Committer["commit"], log: Log) {
    this.#config = config;
    this.#commit = commit;
    this.#log = log;
    this.#writeLine = lineWriter(log);
  }

  /** Resolves when all of them listen; rejects, when none is left, if one of them cannot. */
  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#config.workers }, () => this.#startWorker()));
    } catch (error) {
      await this.stop(0);
      throw error;
    }
  }

  /** Has each finish what it is doing. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const all = [...this.#living];
    const gone = all.map((worker) => new Promise((resolve) => worker.once("close", resolve)));
    for (const worker of all) worker.kill("SIGTERM");
    const force = setTimeout(() => {
      for (const worker of this.#living) worker.kill("SIGKILL");
    }, graceMs + stuckMs);
    await Promise.all(gone);
    clearTimeout(force);
  }

  /** Resolves when it listens. It may never do so when all are stopped meanwhile. */
  #startWorker(): Promise<void> {
    const worker = fork(program, ["worker"], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    const listening = Promise.withResolvers<void>();
    let listensSince: number | undefined;
    this.#living.add(worker);
    passLines(worker.stdout, this.#writeLine);
    worker.on("message", (report: Report) => {
      if (report.kind === "commit") return void this.#write(worker, report);
      if (report.kind === "listening") {
        listensSince = performance.now();
        return listening.resolve();
      }
      listening.reject(new Error(report.message));
      worker.kill("SIGKILL");
    });
    worker.on("error", (error) => listening.reject(error));
    worker.once("close", (code, signal) => {
      this.#living.delete(worker);
      if (this.#isStopping) return;
      const end = signal ?? `exit code ${code}`;
      listening.reject(new Error(`it ended at once (${end})`));
      this.#log.warn({ pid: worker.pid, end }, "a worker ended; another takes its place");
      this.#replace(listensSince);
    });
    tell(worker, { kind: "work", config: this.#config });
    return listening.promise;
  }

  #replace(listenedSince: number | undefined): void {
    const isSound = listenedSince !== undefined && performance.now() - listenedSince > shortLifeMs;
    const again = () => {
      if (this.#isStopping) return;
      this.#startWorker().catch((error) =>
        this.#log.error({ err: error }, "a worker cannot start"),
      );
    };
    if (isSound) again();
    else setTimeout(again, shortLifeMs);
  }

  async #write(worker: ChildProcess, errand: CommitRequest): Promise<void> {
    tell(worker, await runCommitRequest(this.#commit, errand));
  }
}

function tell(worker: ChildProcess, order: Order): void {
  // One that died meanwhile is no error here: it is replaced, and its callers were cut off.
  if (worker.connected) worker.send(order, () => undefined);
}

/** Whole lines only: processes that write to the same pipe cut into each other's. */
function passLines(output: Readable | null, writeLine: (line: string) => void): void {
  let rest = "";
  output?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) writeLine(`${line}\n`);
  });
}
