// Making, listing and revoking tokens.

import { newId } from "../model/id.ts";
import { type Fault, Problem } from "../model/problem.ts";
import type { Soon } from "../model/soon.ts";
import { hashSecret, isScope, newSecret, type Token } from "../model/token.ts";
import type { Store } from "../store/store.ts";

export interface TokenWish {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch; null never expires. */
  readonly expiresAt: number | null;
}

export interface NewToken {
  /** Shown once: only its hash is kept. */
  readonly secret: string;
  readonly token: Token;
}

export class Tokens {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  list(): Soon<readonly Token[]> {
    return this.#store.tokens();
  }

  async find(id: string): Promise<Token | Problem> {
    const tokens = await this.#store.tokens();
    return tokens.find((token) => token.id === id) ?? noToken;
  }

  async create(wish: TokenWish, secret = newSecret()): Promise<NewToken | Problem> {
    const now = this.#clock();
    const errors = faults(wish, now);
    if (errors.length > 0)
      return new Problem("invalid-body", "The token cannot be made.", { errors });
    const token = tokenOf(newId(), secret, wish, now);
    await this.#store.commit([{ kind: "keep-token", token }]);
    return { secret, token };
  }

  /** Takes effect at once, in every process. Revoking twice is not an error of its own. */
  async revoke(id: string): Promise<Problem | undefined> {
    const [outcome] = await this.#store.commit([{ kind: "revoke-token", id, at: this.#clock() }]);
    return outcome?.kind === "missing" ? noToken : undefined;
  }

  /** Makes the first admin token of an empty store. Says whether it did. */
  async first(secret: string): Promise<boolean> {
    if ((await this.#store.tokens()).length > 0) return false;
    const wish = { name: "first admin", scopes: ["admin"], expiresAt: null };
    const token = tokenOf(firstId, secret, wish, this.#clock());
    const [outcome] = await this.#store.commit([{ kind: "keep-token", token }]);
    return outcome?.kind === "done";
  }
}

/** Always the same, so that of many nodes that start on an empty store at once only one makes it. */
const firstId = "00000000-0000-7000-8000-000000000000";

function tokenOf(id: string, secret: string, wish: TokenWish, now: number): Token {
  return {
    id,
    hash: hashSecret(secret),
    name: wish.name,
    scopes: [...new Set(wish.scopes)],
    createdAt: now,
    expiresAt: wish.expiresAt,
    usedAt: null,
    revokedAt: null,
  };
}

const noToken = new Problem("not-found", "There is no token with this id.");

function faults(wish: TokenWish, now: number): readonly Fault[] {
  const found: Fault[] = [];
  if (wish.name.trim() === "" || wish.name.length > 200 || /\p{Cc}/u.test(wish.name)) {
    found.push({
      pointer: "/name",
      detail: "A name of 1 to 200 characters, none of them a control, says what the token is for.",
    });
  }
  if (wish.scopes.length === 0 || wish.scopes.length > 100) {
    found.push({ pointer: "/scopes", detail: "Give 1 to 100 scopes." });
  }
  wish.scopes.forEach((scope, index) => {
    if (!isScope(scope)) {
      found.push({
        pointer: `/scopes/${index}`,
        detail: `${JSON.stringify(scope.slice(0, 100))} is no scope. A scope is "admin", "{collection|*}:{read|create|update|delete|*}" or "action:{name|*}".`,
      });
    }
  });
  if (wish.expiresAt !== null && wish.expiresAt <= now) {
    found.push({ pointer: "/expiresAt", detail: "The expiry must lie in the future." });
  }
  return found;
}
