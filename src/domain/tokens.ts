// Making, listing and revoking tokens.

import { createHash } from "node:crypto";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { newId } from "../model/id.ts";
import { type FieldError, Problem } from "../model/problem.ts";
import { hashSecret, isScope, newSecret, type Token } from "../model/token.ts";
import type { Store } from "../store/store.ts";

export interface TokenRequest {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch; null never expires. */
  readonly expiresAt: number | null;
}

/** An Idempotency-Key, and the id of the token that it came with. */
export interface TokenKey {
  readonly owner: string;
  readonly key: string;
}

export interface IssuedToken {
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

  list(): MaybePromise<readonly Token[]> {
    return this.#store.tokens();
  }

  async find(id: string): Promise<Token | Problem> {
    const tokens = await this.#store.tokens();
    return tokens.find((token) => token.id === id) ?? noToken;
  }

  /**
   * With a key, a repetition of the request finds the token of the first: its id is made from the key,
   * so that any process on any node sees that it is taken. Its secret cannot be shown again.
   */
  async create(wish: TokenRequest, key?: TokenKey): Promise<IssuedToken | Problem> {
    const now = this.#clock();
    const secret = newSecret();
    const errors = faults(wish, now);
    if (errors.length > 0)
      return new Problem("invalid-body", "The token cannot be made.", { errors });
    const id = key === undefined ? newId() : idFor(key);
    const token = tokenOf(id, secret, wish, now);
    const [outcome] = await this.#store.commit([{ kind: "keep-token", token }]);
    return outcome?.kind === "taken"
      ? refuseRepetition(await this.find(id), token)
      : { secret, token };
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

/** A UUID of version 8 (RFC 9562 §5.8). */
function idFor({ owner, key }: TokenKey): string {
  const bytes = createHash("sha256")
    .update(JSON.stringify(["token", owner, key]))
    .digest();
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString("hex", 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function refuseRepetition(first: Token | Problem, { id, ...asked }: Token): Problem {
  const wishOf = ({ name, scopes, expiresAt }: Omit<Token, "id">) =>
    JSON.stringify([name, [...scopes].sort(), expiresAt]);
  return first instanceof Problem || wishOf(first) !== wishOf(asked)
    ? new Problem(
        "key-reused",
        "This Idempotency-Key came before with another request. Nothing was done.",
      )
    : new Problem(
        "conflict",
        `The token ${id} was created under this Idempotency-Key, and its secret is shown only once. Without the secret, revoke the token and create another with a new key.`,
      );
}

/** Always the same, so that of many nodes that start on an empty store at once only one makes it. */
const firstId = "00000000-0000-7000-8000-000000000000";

function tokenOf(id: string, secret: string, wish: TokenRequest, now: number): Token {
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

function faults(wish: TokenRequest, now: number): readonly FieldError[] {
  const found: FieldError[] = [];
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
