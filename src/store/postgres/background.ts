// The work of a node that no request waits for: deleting, erasing, purging, and building indexes.

import type { Task } from "../../lib/tasks.ts";
import { defaultPauseMs } from "../core/retention.ts";
import type { ScrubOptions, ScrubState } from "../erasure.ts";
import type { Change } from "../store.ts";
import { Builder, type BuilderOptions, checkMs } from "./builds.ts";
import { deleteParts } from "./deleted-parts.ts";
import { deletesContent, eraseOutcomes } from "./erase-outcomes.ts";
import type { PostgresSettings } from "./options.ts";
import { purge } from "./purge.ts";
import { Scrubber } from "./scrub.ts";

/** Deleted content is erased within ten minutes; once a minute is rare enough to cost little. */
const minute = 60_000;

/** Every node runs them: what two do at once, one of them finds done (see `Builder`, `deleteParts`, `purge`). */
interface NodeTasks {
  readonly deletion: Task;
  readonly erasure: Task;
  readonly builds: Task;
  readonly purge: Task | undefined;
}

function addTasks(options: BuilderOptions, { tasks, retention }: PostgresSettings): NodeTasks {
  const { run } = options;
  const builder = new Builder(options);
  const added = {
    deletion: tasks.add({ name: "deletion", run: (isStopped) => deleteParts(run, isStopped) }),
    erasure: tasks.add({ name: "erasure", run: (isStopped) => eraseOutcomes(run, isStopped) }),
    builds: tasks.add({
      name: "index-builds",
      everyMs: checkMs,
      run: (isStopped) => builder.work(isStopped),
    }),
    purge:
      retention &&
      tasks.add({
        name: "purge",
        everyMs: retention.pauseMs ?? defaultPauseMs,
        run: (isStopped) => purge(run, isStopped, retention),
      }),
  };
  // A node that stopped earlier may have left work undone.
  for (const task of Object.values(added)) task?.schedule(task.options.everyMs ?? minute);
  return added;
}

export class Background {
  /** Undefined where another process of the node commits: that one does this work, too. */
  readonly #tasks: NodeTasks | undefined;
  readonly #scrubber: Scrubber;

  constructor(options: BuilderOptions, settings: PostgresSettings) {
    this.#scrubber = new Scrubber(options.run, settings);
    this.#tasks = settings.committer ? undefined : addTasks(options, settings);
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
    const tasks: readonly (Task | undefined)[] = Object.values(this.#tasks ?? {});
    await Promise.all(tasks.map((task) => task?.close()));
  }
}
