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

/** Checksum and hash are a tenth of a GET's work, and the same few tokens come again and again. */
const maxHashes = 1_000;

export class Access {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #hashes = new Map<string, string>();
  readonly #touchedAt = new Map<string, number>();

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The living token behind a secret. Look-up is by hash, so comparing leaks no timing. */
  identify(secret: string): Soon<Token | undefined> {
    const known = this.#hashes.get(secret);
    if (known === undefined && !isSecret(secret)) return undefined;
    const hash = known ?? hashSecret(secret);
    return then(this.#store.token(hash), (token) => {
      const now = this.#clock();
      if (token === undefined || !isAlive(token, now)) return undefined;
      if (known === undefined) this.#remember(secret, hash);
      this.#touch(token, now);
      return token;
    });
  }

  /** Only of tokens that live, so that guessing fills nothing. */
  #remember(secret: string, hash: string): void {
    if (this.#hashes.size === maxHashes) this.#hashes.clear();
    this.#hashes.set(secret, hash);
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

export function lacks(scope: string): Problem {
  return new Problem("insufficient-scope", `The token needs the scope ${scope} for this.`, {
    scope,
  });
}
