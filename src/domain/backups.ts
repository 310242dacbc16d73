// Shows administrators how the scheduled backups went.

import type { Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import { requireAdmin } from "./access.ts";

export interface BackupRun {
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly state: "running" | "done" | "failed";
  readonly seconds?: number | undefined;
  /** The size of all rows and files. */
  readonly bytes?: number | undefined;
  /** What was new. */
  readonly writtenBytes?: number | undefined;
  readonly error?: string | undefined;
}

export interface BackupSchedule {
  readonly to: string;
  readonly everyMs: number;
  readonly keepMs: number | undefined;
  /** When the next one begins; undefined while one runs. */
  readonly nextAt: number | undefined;
}

export interface BackupStatus {
  /** Undefined when backups are not scheduled. */
  readonly schedule: BackupSchedule | undefined;
  /** The newest first. */
  readonly runs: readonly BackupRun[];
}

export class Backups {
  #status: BackupStatus = { schedule: undefined, runs: [] };

  list(principal: Principal): BackupStatus | Problem {
    return requireAdmin(principal) ?? this.#status;
  }

  /** Called by the schedule, with what is to be shown from now on. */
  update(status: BackupStatus): void {
    this.#status = status;
  }
}
