// Who is calling, and whether they may.

import { Problem } from "../model/problem.ts";
import { type Soon, then } from "../model/soon.ts";
import {
  allows,
  hashSecret,
  isAdmin,
  isAlive,
  isSecret,
  type Token,
  type Verb,
} from "../model/token.ts";
import type { Store } from "../store/store.ts";

/** `usedAt` is for people who clean up old tokens; a minute's grain spares a write per request. */
const touchIntervalMs = 60_000;

export class Access {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #touchedAt = new Map<string, number>();

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The living token behind a secret. Look-up is by hash, so comparing leaks no timing. */
  identify(secret: string): Soon<Token | undefined> {
    if (!isSecret(secret)) return undefined;
    return then(this.#store.token(hashSecret(secret)), (token) => {
      const now = this.#clock();
      if (token === undefined || !isAlive(token, now)) return undefined;
      this.#touch(token, now);
      return token;
    });
  }

  #touch(token: Token, now: number): void {
    const last = this.#touchedAt.get(token.id) ?? token.usedAt ?? 0;
    if (now - last < touchIntervalMs) return;
    this.#touchedAt.set(token.id, now);
    // A note for people, not a promise: an outage must not fail the request that caused it.
    this.#store.commit([{ kind: "touch-token", id: token.id, at: now }]).catch(() => {});
  }
}

/** Refuses a caller whose scopes do not cover the verb, existing collection or not: no oracle. */
export function mayDo(caller: Token, collection: string, verb: Verb): Problem | undefined {
  return allows(caller, collection, verb) ? undefined : lacks(`${collection}:${verb}`);
}

export function mayAdminister(caller: Token): Problem | undefined {
  return isAdmin(caller) ? undefined : lacks("admin");
}

function lacks(scope: string): Problem {
  return new Problem("insufficient-scope", `The token needs the scope ${scope} for this.`, {
    scope,
  });
}
