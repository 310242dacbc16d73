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

export class Background {
  readonly #deletion: BackgroundTask;
  readonly #erasure: BackgroundTask;
  readonly #builds: BackgroundTask;
  readonly #purge: BackgroundTask | undefined;
  readonly #scrubber: Scrubber;

  constructor(options: BuilderOptions, settings: PostgresSettings) {
    const { run } = options;
    const { retention } = settings;
    this.#scrubber = new Scrubber(run, settings);
    const task = (work: typeof deleteParts) =>
      new BackgroundTask((isStopped) => work(run, isStopped), minute);
    this.#deletion = task(deleteParts);
    this.#erasure = task(eraseOutcomes);
    // A node that stopped earlier may have left work undone.
    this.#deletion.schedule(minute);
    this.#erasure.schedule(minute);
    const builder = new Builder(options);
    this.#builds = BackgroundTask.repeat((isStopped) => builder.work(isStopped), checkMs);
    this.#purge =
      retention &&
      BackgroundTask.repeat(
        (isStopped) => purge(run, isStopped, retention),
        retention.pauseMs ?? defaultPauseMs,
      );
  }

  /** Schedules what these changes leave to do. */
  follow(changes: readonly Change[]): void {
    if (changes.some(({ kind }) => kind === "define")) this.#builds.schedule(0);
    if (changes.some(({ kind }) => kind === "drop")) this.#deletion.schedule(0);
    if (changes.some(deletesContent)) this.#erasure.schedule(minute);
  }

  /** Does a step of the erasure that someone waits for. */
  scrub(options: ScrubOptions): Promise<ScrubState> {
    return this.#scrubber.step(options);
  }

  async close(): Promise<void> {
    await this.#scrubber.close();
    const tasks = [this.#deletion, this.#erasure, this.#builds, this.#purge];
    await Promise.all(tasks.map((task) => task?.close()));
  }
}
