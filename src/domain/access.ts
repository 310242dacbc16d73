// Who is calling, and whether they may.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { isActionName } from "../model/action.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import {
  actionScope,
  allows,
  allowsAction,
  hashSecret,
  isAdmin,
  isAlive,
  isSecret,
  type Token,
  type Verb,
} from "../model/token.ts";
import type { Store } from "../store/store.ts";

/** Who calls without a token is nobody, and gets where a collection is open to everyone. */
export type Caller = Token | undefined;

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
  identify(secret: string): MaybePromise<Token | undefined> {
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

/** Refuses a caller who may not, existing collection or not: no oracle. */
export function requirePermission(
  caller: Caller,
  collection: string,
  verb: Verb,
  rules: Rules | undefined,
): Problem | undefined {
  if (caller !== undefined && allows(caller, collection, verb)) return undefined;
  if (rules !== undefined && definitionOf(rules).access[verb] === "public") return undefined;
  return caller === undefined ? unauthenticated : insufficientScope(`${collection}:${verb}`);
}

/** Judged before anything is looked at, so that nobody learns what there is where they may not go. */
export function mayTry(
  caller: Caller,
  kind: "create" | "put" | "patch" | "remove",
  collection: string,
  rules: Rules | undefined,
): Problem | undefined {
  const forbidden = (verb: Verb) => requirePermission(caller, collection, verb, rules);
  switch (kind) {
    case "create":
      return forbidden("create");
    case "put":
      return forbidden("create") && forbidden("update");
    case "patch":
      return forbidden("update");
    case "remove":
      return forbidden("delete");
  }
}

/** The id of the only owner whose resources the caller reaches with this verb; none for all. */
export function visibilityOf(
  caller: Caller,
  verb: Verb,
  rules: Rules | undefined,
): string | undefined {
  if (rules === undefined || definitionOf(rules).access[verb] !== "owner") return undefined;
  // Nobody owns nothing; and what has no owner is for administrators.
  return caller === undefined ? "" : isAdmin(caller) ? undefined : caller.id;
}

/** Whether the resource is there for the caller: who may not see it cannot change it either. */
export function reaches(
  caller: Caller,
  verb: Verb,
  rules: Rules | undefined,
  { owner }: Resource,
): boolean {
  const isWithin = (each: Verb) => {
    const reach = visibilityOf(caller, each, rules);
    return reach === undefined || reach === owner;
  };
  return isWithin("read") && (verb === "read" || isWithin(verb));
}

/** Whether it matters who created a resource. */
export const isOwned = (rules: Rules | undefined): boolean =>
  rules !== undefined && Object.values(definitionOf(rules).access).includes("owner");

export function requireAdmin(caller: Token): Problem | undefined {
  return isAdmin(caller) ? undefined : insufficientScope("admin");
}

/** Refuses a caller who may not, existing action or not. What cannot be a name is nothing to anyone. */
export function requireActionScope(caller: Token, action: string): Problem | undefined {
  if (!isActionName(action)) return noAction;
  return allowsAction(caller, action) ? undefined : insufficientScope(actionScope(action));
}

export const noAction = new Problem(
  "not-found",
  "There is no action of this name; /-/actions lists those that the token may run.",
);

export function insufficientScope(scope: string): Problem {
  return new Problem("insufficient-scope", `The token needs the scope ${scope} for this.`, {
    scope,
  });
}

export const unauthenticated = new Problem(
  "unauthenticated",
  "Send a token: `Authorization: Bearer rst_…`.",
);
