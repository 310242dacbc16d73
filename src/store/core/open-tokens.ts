// Applies changes to tokens in memory, and collects the rows to write at the end of the batch.

import { isCode, type Token } from "../../model/token.ts";
import type { Change, Outcome } from "../store.ts";
import type { StateBefore } from "./state.ts";
import type { EngineWrites, TokenTime } from "./writes.ts";

type TokenChange = Extract<Change, { kind: `${string}-token` }>;

type TokenState = Pick<StateBefore, "hasToken" | "hasTokenHash" | "isTokenRevoked">;

export class OpenTokens {
  readonly #state: TokenState;
  readonly #new = new Map<string, Token>();
  readonly #newHashes = new Set<string>();
  /** Codes are removed when they are used. */
  readonly #removed = new Set<string>();
  readonly #codeTimes: number[] = [];
  readonly #revoked = new Map<string, TokenTime>();
  readonly #used = new Map<string, TokenTime>();
  /** Many changes of a batch can have the same caller. */
  readonly #callers = new Map<string, boolean>();

  constructor(state: TokenState) {
    this.#state = state;
  }

  apply(change: TokenChange): Outcome {
    if (change.kind === "create-token") return this.#create(change);
    if (!this.#exists(change.id)) return { kind: "missing" };
    if (change.kind === "remove-token") {
      this.#removed.add(change.id);
      return { kind: "done" };
    }
    const { kind, id, at } = change;
    // The first revocation and the last use count.
    if (kind === "touch-token")
      this.#used.set(id, { id, at: Math.max(at, this.#used.get(id)?.at ?? 0) });
    else if (!this.#revoked.has(id)) this.#revoked.set(id, { id, at });
    return { kind: "done" };
  }

  /** Whether a caller's token is revoked, also by this batch, or was erased. */
  isRevoked(id: string | undefined): boolean {
    if (id === undefined || this.#new.has(id)) return this.#revoked.has(id ?? "");
    if (this.#revoked.has(id) || this.#removed.has(id)) return true;
    const isRevoked = this.#callers.get(id) ?? this.#state.isTokenRevoked(id);
    this.#callers.set(id, isRevoked);
    return isRevoked;
  }

  collect(): Pick<
    EngineWrites,
    "tokens" | "removedTokens" | "codeTimes" | "revokedTokens" | "usedTokens"
  > {
    return {
      tokens: [...this.#new.values()],
      removedTokens: [...this.#removed],
      codeTimes: this.#codeTimes,
      revokedTokens: [...this.#revoked.values()],
      usedTokens: [...this.#used.values()],
    };
  }

  #exists(id: string): boolean {
    return !this.#removed.has(id) && (this.#new.has(id) || this.#state.hasToken(id));
  }

  #create({ token, code }: Extract<TokenChange, { kind: "create-token" }>): Outcome {
    const { id, hash } = token;
    if (code !== undefined && !this.#exists(code)) return { kind: "missing" };
    if (this.#exists(id) || this.#newHashes.has(hash) || this.#state.hasTokenHash(hash))
      return { kind: "taken" };
    if (code !== undefined) this.#removed.add(code);
    if (code !== undefined || isCode(token)) this.#codeTimes.push(token.createdAt);
    this.#newHashes.add(hash);
    this.#new.set(id, token);
    return { kind: "done" };
  }
}
