// Runs many worker processes on one port: starts them, commits their writes and replaces those that exit.

import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { BackupStatus } from "../domain/backups.ts";
import type { NotReloaded, Reloaded } from "../domain/settings.ts";
import type { MetricFamily } from "../lib/metrics.ts";
import { commandArguments } from "../lib/program.ts";
import type { TaskState, Tasks } from "../lib/tasks.ts";
import {
  type CommitOwner,
  type CommitReply,
  type CommitRequest,
  runCommitRequest,
} from "../store/remote-committer.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import { type Log, lineWriter } from "./log.ts";
import type { Reloader } from "./reload.ts";
import { WorkerMetrics } from "./worker-metrics.ts";

/** A message from the supervisor to a worker. */
export type SupervisorMessage =
  | { readonly kind: "work"; readonly config: Config; readonly port: number }
  | { readonly kind: "reload"; readonly config: Config }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answers[keyof Answers] }
  | { readonly kind: "backups"; readonly status: BackupStatus }
  | { readonly kind: "send-metrics" }
  | CommitReply;
/** A message from a worker to the supervisor. */
export type WorkerMessage =
  | { readonly kind: "listening" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "reloaded" }
  | { readonly kind: "ask"; readonly id: number; readonly what: keyof Answers }
  | { readonly kind: "metrics"; readonly families: readonly MetricFamily[] }
  | CommitRequest;

/** What a worker asks the supervisor to do for all processes, and what it is told. */
export interface Answers {
  readonly reload: Reloaded | NotReloaded;
  readonly metrics: readonly MetricFamily[];
  readonly tasks: readonly TaskState[];
}

/** A worker that exits sooner is replaced after this delay, so that the machine does not only start workers. */
const shortLifeMs = 1_000;
/** The time that a worker gets after the grace period, before it is killed. */
const stuckMs = 1_000;

export class Supervisor {
  #config: Config;
  readonly #port: number;
  readonly #writer: CommitOwner;
  readonly #log: Log;
  readonly #writeLine: (line: string) => void;
  readonly #workers = new Set<ChildProcess>();
  readonly #metrics: WorkerMetrics<ChildProcess>;
  #backups: BackupStatus | undefined;
  #isStopping = false;
  readonly #reloader: Reloader;
  readonly #tasks: Tasks;
  /** Called when a worker has reloaded, or has exited. */
  readonly #reloading = new WeakMap<ChildProcess, () => void>();

  /** All workers share the port, which is not 0. */
  constructor(
    config: Config,
    port: number,
    { writer, metrics, tasks }: Pick<App, "writer" | "metrics" | "tasks">,
    log: Log,
    reloader: Reloader,
  ) {
    this.#config = config;
    this.#port = port;
    this.#writer = writer;
    this.#log = log;
    this.#reloader = reloader;
    this.#tasks = tasks;
    reloader.spread = (next) => this.#reload(next);
    this.#writeLine = lineWriter(log);
    this.#metrics = new WorkerMetrics(
      () => metrics.read(),
      (worker) => send(worker, { kind: "send-metrics" }),
    );
  }

  /** Returns the metrics of all processes. */
  collectMetrics(): Promise<readonly MetricFamily[]> {
    return this.#metrics.collect();
  }

  /** Resolves when all workers listen. When one cannot start, it stops the others and rejects. */
  async start(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#config.workers }, () => this.#startWorker()));
    } catch (error) {
      await this.stop(0);
      throw error;
    }
  }

  /** Lets each worker finish its requests, then kills those that are left. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    const all = [...this.#workers];
    const gone = all.map((worker) => new Promise((resolve) => worker.once("close", resolve)));
    for (const worker of all) worker.kill("SIGTERM");
    const force = setTimeout(() => {
      for (const worker of this.#workers) worker.kill("SIGKILL");
    }, graceMs + stuckMs);
    await Promise.all(gone);
    clearTimeout(force);
  }

  /** Lets every worker show it, also those that start later. */
  showBackups(status: BackupStatus): void {
    this.#backups = status;
    for (const worker of this.#workers) send(worker, { kind: "backups", status });
  }

  /** Resolves when every worker uses the settings. One that starts later gets them, too. */
  async #reload(config: Config): Promise<void> {
    this.#config = config;
    const reloaded = [...this.#workers].map((worker) => {
      const done = new Promise<void>((resolve) => this.#reloading.set(worker, resolve));
      send(worker, { kind: "reload", config });
      return done;
    });
    await Promise.all(reloaded);
  }

  /** Resolves when the worker listens. It stays pending when `stop` is called before that. */
  #startWorker(): Promise<void> {
    const worker = spawn(process.execPath, commandArguments("worker"), {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const listening = Promise.withResolvers<void>();
    let listensSince: number | undefined;
    this.#workers.add(worker);
    this.#metrics.add(worker);
    passLines(worker.stdout, this.#writeLine);
    worker.on("message", (message: WorkerMessage) => {
      if (message.kind === "listening") {
        listensSince = performance.now();
        if (this.#backups) send(worker, { kind: "backups", status: this.#backups });
        return listening.resolve();
      }
      if (message.kind === "metrics") return this.#metrics.receive(worker, message.families);
      if (message.kind === "reloaded") return this.#reloading.get(worker)?.();
      if (message.kind === "ask") return void this.#answer(worker, message.id, message.what);
      if (message.kind !== "failed") return void this.#write(worker, message);
      listening.reject(new Error(message.message));
      worker.kill("SIGKILL");
    });
    worker.on("error", (error) => listening.reject(error));
    worker.once("close", (code, signal) => {
      this.#workers.delete(worker);
      this.#metrics.remove(worker);
      this.#reloading.get(worker)?.();
      if (this.#isStopping) return;
      const end = signal ?? `exit code ${code}`;
      listening.reject(new Error(`it exited immediately (${end})`));
      this.#log.warn({ pid: worker.pid, end }, "a worker exited and is replaced");
      this.#replace(listensSince);
    });
    send(worker, { kind: "work", config: this.#config, port: this.#port });
    return listening.promise;
  }

  #replace(listenedSince: number | undefined): void {
    const wasStable =
      listenedSince !== undefined && performance.now() - listenedSince > shortLifeMs;
    const again = () => {
      if (this.#isStopping) return;
      this.#startWorker().catch((error) =>
        this.#log.error({ err: error }, "a worker cannot start"),
      );
    };
    if (wasStable) again();
    else setTimeout(again, shortLifeMs);
  }

  async #answer(worker: ChildProcess, id: number, what: keyof Answers): Promise<void> {
    const answers = {
      reload: () => this.#reloader.reload(),
      metrics: () => this.#metrics.collect(),
      tasks: () => this.#tasks.list(),
    };
    send(worker, { kind: "answer", id, answer: await answers[what]() });
  }

  async #write(worker: ChildProcess, request: CommitRequest): Promise<void> {
    send(worker, await runCommitRequest(this.#writer, request));
  }
}

function send(worker: ChildProcess, message: SupervisorMessage): void {
  // A worker that has exited is no error here: it is replaced, and its clients were disconnected.
  if (worker.connected) worker.send(message, () => undefined);
}

/** Passes on whole lines only, because lines of processes that write to the same pipe would mix. */
function passLines(output: Readable | null, writeLine: (line: string) => void): void {
  let rest = "";
  output?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) writeLine(`${line}\n`);
  });
}
