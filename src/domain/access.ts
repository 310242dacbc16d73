// Finds the token of a caller and checks what the caller may do.

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

/** A caller without a token is undefined and may use what a collection opens to everyone. */
export type Caller = Token | undefined;

/** `usedAt` helps people to clean up old tokens; one write a minute is exact enough. */
const touchIntervalMs = 60_000;

/** The checksum and the hash are a tenth of the work of a GET, so the hashes of recent tokens are cached. */
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

  /** Returns the valid token of a secret. The lookup is by hash, so its timing reveals nothing. */
  identify(secret: string): MaybePromise<Token | undefined> {
    const cachedHash = this.#hashes.get(secret);
    if (cachedHash === undefined && !isSecret(secret)) return undefined;
    const hash = cachedHash ?? hashSecret(secret);
    return then(this.#store.token(hash), (token) => {
      const now = this.#clock();
      if (token === undefined || !isAlive(token, now)) return undefined;
      if (cachedHash === undefined) this.#cacheHash(secret, hash);
      this.#touch(token, now);
      return token;
    });
  }

  /** Caches only the hashes of valid tokens, so that guesses do not fill the cache. */
  #cacheHash(secret: string, hash: string): void {
    if (this.#hashes.size === maxHashes) this.#hashes.clear();
    this.#hashes.set(secret, hash);
  }

  #touch(token: Token, now: number): void {
    const last = this.#touchedAt.get(token.id) ?? token.usedAt ?? 0;
    if (now - last < touchIntervalMs) return;
    this.#touchedAt.set(token.id, now);
    // The time of last use is not critical: a store outage must not fail the request.
    this.#store.commit([{ kind: "touch-token", id: token.id, at: now }]).catch(() => {});
  }
}

/** Returns a problem when the caller may not do this; the same whether or not the collection exists. */
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

/** Checked before any state is read, so that a caller without permission learns nothing about it. */
export function requireWritePermission(
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

/** Returns the only owner whose resources the caller may access with this verb; undefined for all. */
export function visibilityOf(
  caller: Caller,
  verb: Verb,
  rules: Rules | undefined,
): string | undefined {
  if (rules === undefined || definitionOf(rules).access[verb] !== "owner") return undefined;
  // No resource has the owner "". Only administrators access resources without an owner.
  return caller === undefined ? "" : isAdmin(caller) ? undefined : caller.id;
}

/** Returns whether the caller may access the resource: one that it cannot read, it cannot change either. */
export function canAccess(
  caller: Caller,
  verb: Verb,
  rules: Rules | undefined,
  { owner }: Resource,
): boolean {
  const mayAccess = (each: Verb) => {
    const visibleOwner = visibilityOf(caller, each, rules);
    return visibleOwner === undefined || visibleOwner === owner;
  };
  return mayAccess("read") && (verb === "read" || mayAccess(verb));
}

/** Returns whether access depends on who created a resource. */
export const isOwned = (rules: Rules | undefined): boolean =>
  rules !== undefined && Object.values(definitionOf(rules).access).includes("owner");

export function requireAdmin(caller: Token): Problem | undefined {
  return isAdmin(caller) ? undefined : insufficientScope("admin");
}

/** Returns the same problem whether or not the action exists. A malformed name is 404 for every caller. */
export function requireActionScope(caller: Token, action: string): Problem | undefined {
  if (!isActionName(action)) return noAction;
  return allowsAction(caller, action) ? undefined : insufficientScope(actionScope(action));
}

export const noAction = new Problem(
  "not-found",
  "There is no action with this name. GET /-/actions lists the actions that this token may run.",
);

export function insufficientScope(scope: string): Problem {
  return new Problem("insufficient-scope", `The token needs the scope ${scope}.`, {
    scope,
  });
}

export const unauthenticated = new Problem(
  "unauthenticated",
  "Send a token: `Authorization: Bearer rst_…`.",
);
