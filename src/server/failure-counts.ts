// Decides which failures of requests are logged: while the storage is in a state, every write fails alike.

import { FileOutage, Outage } from "../model/outage.ts";

const everyMs = 60_000;
/** A state can have several causes. */
const maxCauses = 5;

/** What lasts. Of the others, each says something of its own request. */
const states: ReadonlySet<string> = new Set(["full", "busy", "unavailable", "suspect", "crowded"]);

interface Logged {
  readonly at: number;
  readonly causes: Set<string>;
  leftOut: number;
}

export class FailureCounts {
  readonly #logged = new Map<string, Logged>();

  /** Returns how many of the same state and cause were left out before this one; undefined to leave it out, too. */
  take(thrown: unknown): number | undefined {
    if (!(thrown instanceof Outage && states.has(thrown.reason))) return 0;
    const state = `${thrown.reason} ${thrown instanceof FileOutage}`;
    const now = performance.now();
    const last = this.#logged.get(state);
    const { message } = thrown;
    if (last === undefined || now - last.at >= everyMs) {
      this.#logged.set(state, { at: now, causes: new Set([message]), leftOut: 0 });
      return last?.leftOut ?? 0;
    }
    if (!last.causes.has(message) && last.causes.size < maxCauses) {
      last.causes.add(message);
      return 0;
    }
    last.leftOut++;
    return undefined;
  }
}
