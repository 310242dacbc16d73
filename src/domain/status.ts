// Shows administrators what the server does in the background, and how it went.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { TaskState } from "../lib/tasks.ts";
import type { Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import { requireAdmin } from "./access.ts";

type ReadTasks = () => MaybePromise<readonly TaskState[]>;

export class Status {
  #tasks: ReadTasks;

  constructor(tasks: ReadTasks) {
    this.#tasks = tasks;
  }

  tasks(principal: Principal): MaybePromise<readonly TaskState[] | Problem> {
    return requireAdmin(principal) ?? this.#tasks();
  }

  /** Called with how those of all processes are read. */
  readBy(tasks: ReadTasks): void {
    this.#tasks = tasks;
  }
}
