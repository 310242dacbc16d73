// Remembers when tokens were last used, and writes the times of all tokens together now and then.

import { type Task, Tasks } from "../lib/tasks.ts";
import type { Token } from "../model/token.ts";
import type { Store } from "../store/store.ts";

/** The time helps people to clean up old tokens, so a minute is exact enough. */
export const useResolutionMs = 60_000;

/** How long a use may stay in memory. One that is not written when the process is killed is lost. */
const writeIntervalMs = 5 * 60_000;

export class TokenUses {
  readonly #store: Store;
  readonly #intervalMs: number;
  /** The uses that are not written yet, by the id of the token. */
  #usedAt = new Map<string, number>();
  /** Consecutive requests often have the same token. Its next use is noted from this time on. */
  #lastToken: Token | undefined;
  #dueAt = 0;
  readonly #task: Task;

  constructor(store: Store, tasks: Tasks = new Tasks(), intervalMs: number = writeIntervalMs) {
    this.#store = store;
    this.#task = tasks.add({ name: "token-uses", run: () => this.#write() });
    this.#intervalMs = intervalMs;
  }

  add(token: Token, now: number): void {
    if (token === this.#lastToken && now < this.#dueAt) return;
    const last = this.#usedAt.get(token.id) ?? token.usedAt ?? 0;
    const isDue = now - last >= useResolutionMs;
    this.#lastToken = token;
    this.#dueAt = (isDue ? now : last) + useResolutionMs;
    if (!isDue) return;
    this.#usedAt.set(token.id, now);
    this.#task.schedule(this.#intervalMs);
  }

  /** Returns the token with its last use, also when that is not written yet. */
  latest(token: Token): Token {
    const usedAt = this.#usedAt.get(token.id);
    return usedAt === undefined ? token : { ...token, usedAt: Math.max(usedAt, token.usedAt ?? 0) };
  }

  /** Writes all uses in one commit. They stay in memory when the store cannot write. */
  flush(): Promise<void> {
    // The time of last use is not critical, so an outage fails nothing else.
    return this.#write().catch(() => undefined);
  }

  async #write(): Promise<void> {
    const uses = this.#usedAt;
    if (uses.size === 0) return;
    this.#usedAt = new Map();
    try {
      await this.#store.commit([...uses].map(([id, at]) => ({ kind: "touch-token", id, at })));
    } catch (error) {
      this.#usedAt = new Map([...uses, ...this.#usedAt]);
      throw error;
    }
  }
}
