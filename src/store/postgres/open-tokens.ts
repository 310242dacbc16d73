// Holds the state of tokens while a batch is applied.

import type { Token } from "../../model/token.ts";
import type { Change, Outcome } from "../store.ts";
import type { Writes } from "./writes.ts";

export type TokenChange = Extract<Change, { kind: `${string}-token` }>;

/** The columns of a stored token that a change needs. */
export interface LoadedToken {
  readonly id: string;
  readonly hash: string;
}

type Times = Pick<Token, "usedAt" | "revokedAt">;

export class OpenTokens {
  readonly #hashes: Set<string>;
  /** Stored tokens, with the changes of the batch. */
  readonly #known: Map<string, Times>;
  readonly #new = new Map<string, Token>();

  constructor(known: readonly LoadedToken[]) {
    this.#hashes = new Set(known.map(({ hash }) => hash));
    this.#known = new Map(known.map(({ id }) => [id, { usedAt: null, revokedAt: null }]));
  }

  apply(change: TokenChange): Outcome {
    switch (change.kind) {
      case "create-token":
        return this.#save(change.token);
      case "revoke-token":
        return this.#mark(change.id, { usedAt: null, revokedAt: change.at });
      case "touch-token":
        return this.#mark(change.id, { usedAt: change.at, revokedAt: null });
    }
  }

  collect(writes: Writes): void {
    for (const token of this.#new.values()) writes.tokens.push(token);
    for (const [id, times] of this.#known)
      if (times.usedAt !== null || times.revokedAt !== null)
        writes.tokenTimes.push({ id, ...times });
  }

  #save(token: Token): Outcome {
    const { id, hash } = token;
    if (this.#known.has(id) || this.#new.has(id) || this.#hashes.has(hash))
      return { kind: "taken" };
    this.#hashes.add(hash);
    this.#new.set(id, token);
    return { kind: "done" };
  }

  #mark(id: string, times: Times): Outcome {
    const token = this.#new.get(id);
    const known = this.#known.get(id);
    if (token) this.#new.set(id, { ...token, ...later(token, times) });
    else if (known) this.#known.set(id, later(known, times));
    else return { kind: "missing" };
    return { kind: "done" };
  }
}

/** Keeps the first revocation and the last use. */
const later = (one: Times, other: Times): Times => ({
  usedAt: one.usedAt === null ? other.usedAt : Math.max(one.usedAt, other.usedAt ?? 0),
  revokedAt: one.revokedAt ?? other.revokedAt,
});
