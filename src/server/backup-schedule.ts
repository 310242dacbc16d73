// Runs `restante backup` in a process of its own, again and again, and reports how it went.

import { type ChildProcess, spawn } from "node:child_process";
import { constants, getPriority, setPriority } from "node:os";
import { text } from "node:stream/consumers";
import type { BackupRecord } from "../backup/manifest.ts";
import type { BackupRun, BackupStatus } from "../domain/backups.ts";
import { messageOf } from "../lib/cli-error.ts";
import { commandArguments } from "../lib/program.ts";
import type { Task, Tasks } from "../lib/tasks.ts";
import { type Config, processEnvironment, settings } from "./config.ts";
import type { Log } from "./log.ts";
import { openBackupPlace } from "./open-backups.ts";

/** How many runs are shown. */
const maxRuns = 20;
/** After a failure it is tried again sooner. */
const retryMs = 15 * 60_000;
/** The clocks of nodes may differ by so much. */
const maxSkewMs = 60_000;
/** A timer cannot wait much longer. */
const maxWaitMs = 24 * 60 * 60_000;
/** Requests come first, but a busy server must not keep a backup from ending. */
const lowerBy = 5;

export interface ScheduleOptions {
  readonly config: Config;
  readonly to: string;
  readonly log: Log;
  readonly onChange: (status: BackupStatus) => void;
  readonly tasks: Tasks;
}

/**
 * Several nodes can have the same folder: each makes a backup only when the newest one there is too old, and
 * the lock of the folder lets one write (see backup/). Nodes with folders of their own make one each.
 */
export class BackupScheduler {
  readonly #options: ScheduleOptions;
  #runs: readonly BackupRun[] = [];
  readonly #task: Task;
  #child: ChildProcess | undefined;
  #isStopped = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#task = options.tasks.add({
      name: "backup",
      retryMs,
      failure: "a backup failed",
      run: () => this.#runIfDue(),
    });
  }

  /** Shows the backups that are there, and begins when the newest is too old. */
  async start(): Promise<void> {
    const records = await this.#records();
    this.#runs = records.slice(-maxRuns).reverse().map(runOf);
    this.#schedule(this.#nextAfter(records.at(-1)));
  }

  /** A backup that was killed is not there, and the next one goes on with what it has written. */
  stop(): void {
    this.#isStopped = true;
    void this.#task.close();
    this.#child?.kill("SIGKILL");
  }

  /** A backup of the future was made before the clock was set back, so it is not known how old it is. */
  #nextAfter(last: BackupRecord | undefined): number {
    const createdAt = last === undefined ? 0 : Date.parse(last.createdAt);
    const isKnown = last !== undefined && createdAt < Date.now() + maxSkewMs;
    return isKnown ? createdAt + this.#options.config.backupEvery : 0;
  }

  /** Returns none when the folder does not exist yet or cannot be read: then the backup itself fails. */
  async #records(): Promise<readonly BackupRecord[]> {
    try {
      return await (await openBackupPlace(this.#options.to).open()).records();
    } catch {
      return [];
    }
  }

  #schedule(nextAt: number): void {
    if (this.#isStopped) return;
    this.#show(Math.max(nextAt, Date.now()));
    this.#task.schedule(Math.min(maxWaitMs, Math.max(0, nextAt - Date.now())));
  }

  /** Another node may have made a backup meanwhile. */
  async #runIfDue(): Promise<void> {
    const nextAt = this.#nextAfter((await this.#records()).at(-1));
    if (nextAt > Date.now()) {
      this.#schedule(nextAt);
      return;
    }
    const startedAt = Date.now();
    this.#add({ startedAt, state: "running" }, undefined);
    const [run, failure] = await this.#run(startedAt);
    this.#runs = this.#runs.slice(1);
    if (this.#isStopped) return;
    const { backupEvery } = this.#options.config;
    const pause = run.state === "done" ? backupEvery : Math.min(backupEvery, retryMs);
    // The clock may have been set back meanwhile.
    const due = Math.min(startedAt, Date.now()) + pause;
    this.#add(run, due);
    this.#schedule(due);
    if (failure !== undefined) throw failure;
  }

  /** Returns what is shown, and what was thrown. */
  async #run(startedAt: number): Promise<readonly [BackupRun, failure?: Error]> {
    const { to, log } = this.#options;
    try {
      const record = JSON.parse(await this.#backUp()) as BackupRecord;
      const { resources, files, bytes, writtenBytes, seconds } = record;
      log.info({ to, resources, files, bytes, writtenBytes, seconds }, "made a backup");
      return [{ startedAt, state: "done", seconds, bytes, writtenBytes }];
    } catch (thrown) {
      const error = messageOf(thrown);
      const seconds = (Date.now() - startedAt) / 1_000;
      return [{ startedAt, state: "failed", seconds, error }, new Error(error)];
    }
  }

  /** Returns what the command prints. Rejects with its message when it fails. */
  async #backUp(): Promise<string> {
    const { config, to } = this.#options;
    const { data, files, store, backupKeep } = config;
    const flags = [
      "backup",
      "--json",
      "--data",
      data,
      "--to",
      to,
      ...(files === undefined ? [] : ["--files", files]),
      ...(backupKeep === undefined ? [] : ["--keep", `${Math.round(backupKeep / 1_000)}s`]),
    ];
    // The URL can have a password, and every user of the machine can see command lines.
    const env = { ...processEnvironment(), [settings.store.variable]: store ?? "" };
    const child = spawn(process.execPath, commandArguments(...flags), {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const exit = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code));
    });
    lower(child.pid);
    const [stdout, stderr, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      exit,
    ]);
    this.#child = undefined;
    if (code === 0) return stdout;
    throw new Error(stderr.trim() || `it ended with exit code ${code}`);
  }

  #add(run: BackupRun, nextAt: number | undefined): void {
    this.#runs = [run, ...this.#runs].slice(0, maxRuns);
    this.#show(nextAt);
  }

  #show(nextAt: number | undefined): void {
    const { to, onChange, config } = this.#options;
    const { backupEvery: everyMs, backupKeep: keepMs } = config;
    onChange({ schedule: { to, everyMs, keepMs, nextAt }, runs: this.#runs });
  }
}

const runOf = ({ createdAt, seconds, bytes, writtenBytes }: BackupRecord): BackupRun => ({
  startedAt: Date.parse(createdAt),
  state: "done",
  seconds,
  bytes,
  writtenBytes,
});

function lower(pid: number | undefined): void {
  try {
    if (pid === undefined) return;
    setPriority(pid, Math.min(constants.priority.PRIORITY_LOW, getPriority() + lowerBy));
  } catch {
    // It has ended, or the system does not allow it.
  }
}
