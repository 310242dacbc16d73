// The work of a node that no request waits for: deleting, erasing, purging, and building indexes.

import { defaultPauseMs } from "../core/retention.ts";
import type { ScrubOptions, ScrubState } from "../erasure.ts";
import type { Change } from "../store.ts";
import { BackgroundTask } from "./background-task.ts";
import { Builder, type BuilderOptions, checkMs } from "./builds.ts";
import { deleteParts } from "./deleted-parts.ts";
import { deletesContent, eraseOutcomes } from "./erase-outcomes.ts";
import type { PostgresSettings } from "./options.ts";
import { purge } from "./purge.ts";
import { Scrubber } from "./scrub.ts";

/** Deleted content is erased within ten minutes; once a minute is rare enough to cost little. */
const minute = 60_000;

interface Tasks {
  readonly deletion: BackgroundTask;
  readonly erasure: BackgroundTask;
  readonly builds: BackgroundTask;
  readonly purge: BackgroundTask | undefined;
}

function startTasks(options: BuilderOptions, { retention }: PostgresSettings): Tasks {
  const { run } = options;
  const task = (work: typeof deleteParts) =>
    new BackgroundTask((isStopped) => work(run, isStopped), minute);
  const deletion = task(deleteParts);
  const erasure = task(eraseOutcomes);
  // A node that stopped earlier may have left work undone.
  deletion.schedule(minute);
  erasure.schedule(minute);
  const builder = new Builder(options);
  const builds = BackgroundTask.repeat((isStopped) => builder.work(isStopped), checkMs);
  const purges =
    retention &&
    BackgroundTask.repeat(
      (isStopped) => purge(run, isStopped, retention),
      retention.pauseMs ?? defaultPauseMs,
    );
  return { deletion, erasure, builds, purge: purges };
}

export class Background {
  /** Undefined where another process of the node commits: that one does this work, too. */
  readonly #tasks: Tasks | undefined;
  readonly #scrubber: Scrubber;

  constructor(options: BuilderOptions, settings: PostgresSettings) {
    this.#scrubber = new Scrubber(options.run, settings);
    this.#tasks = settings.committer ? undefined : startTasks(options, settings);
  }

  /** Schedules what these changes leave to do. */
  follow(changes: readonly Change[]): void {
    if (this.#tasks === undefined) return;
    const { builds, deletion, erasure } = this.#tasks;
    if (changes.some(({ kind }) => kind === "define")) builds.schedule(0);
    if (changes.some(({ kind }) => kind === "drop")) deletion.schedule(0);
    if (changes.some(deletesContent)) erasure.schedule(minute);
  }

  /** Does a step of the erasure that someone waits for. */
  scrub(options: ScrubOptions): Promise<ScrubState> {
    return this.#scrubber.step(options);
  }

  async close(): Promise<void> {
    await this.#scrubber.close();
    const tasks: readonly (BackgroundTask | undefined)[] = Object.values(this.#tasks ?? {});
    await Promise.all(tasks.map((task) => task?.close()));
  }
}
