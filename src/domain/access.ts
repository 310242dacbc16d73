// Finds the principal of a secret, and decides what a principal may do.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { isActionName } from "../model/action.ts";
import { noRoles, type Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import {
  actionScope,
  allowsAction,
  hashSecret,
  isAdmin,
  isAlive,
  isSecret,
  type Token,
} from "../model/token.ts";
import type { Store } from "../store/store.ts";
import {
  CollectionAccess,
  type CollectionPermission,
  insufficientScope,
  unauthenticated,
} from "./collection-access.ts";
import { TokenUses } from "./token-uses.ts";

/** The checksum and the hash are a tenth of the work of a GET, so the hashes of recent tokens are cached. */
const maxHashes = 1_000;

export class Access {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #uses: TokenUses;
  readonly #hashes = new Map<string, string>();

  constructor(store: Store, clock: () => number, uses: TokenUses = new TokenUses(store)) {
    this.#store = store;
    this.#clock = clock;
    this.#uses = uses;
  }

  /** Returns the principal of a valid secret. The lookup is by hash, so its timing reveals nothing. */
  identify(secret: string): MaybePromise<Principal | undefined> {
    const cachedHash = this.#hashes.get(secret);
    if (cachedHash === undefined && !isSecret(secret)) return undefined;
    const hash = cachedHash ?? hashSecret(secret);
    return then(this.#store.token(hash), (token) => {
      const now = this.#clock();
      if (token === undefined || !isAlive(token, now)) return undefined;
      if (cachedHash === undefined) this.#cacheHash(secret, hash);
      this.#uses.add(token, now);
      return principalOf(token);
    });
  }

  /** Reads the rules of a collection. Every use of the result checks its own permission. */
  collection(principal: Principal, name: string): MaybePromise<CollectionAccess> {
    return then(this.#store.rules(name), (rules) => new CollectionAccess(principal, name, rules));
  }

  /** Returns the access of a principal that has the permission, otherwise the problem. */
  open(
    principal: Principal,
    name: string,
    permission: CollectionPermission,
  ): MaybePromise<CollectionAccess | Problem> {
    return then(this.collection(principal, name), (access) => access.require(permission) ?? access);
  }

  /** Caches only the hashes of valid tokens, so that guesses do not fill the cache. */
  #cacheHash(secret: string, hash: string): void {
    if (this.#hashes.size === maxHashes) this.#hashes.clear();
    this.#hashes.set(secret, hash);
  }
}

const principalOf = (token: Token): Principal => ({
  kind: "token",
  subject: token.subject,
  scopes: token.scopes,
  roles: noRoles,
  token,
});

/** Returns a problem for an anonymous caller. */
export const requireToken = ({ kind }: Principal): Problem | undefined =>
  kind === "anonymous" ? unauthenticated : undefined;

export const requireAdmin = (principal: Principal): Problem | undefined =>
  requireToken(principal) ?? (isAdmin(principal) ? undefined : insufficientScope("admin"));

/** Returns the same problem whether or not the action exists. A malformed name is 404 for every caller. */
export function requireActionScope(principal: Principal, action: string): Problem | undefined {
  const anonymous = requireToken(principal);
  if (anonymous !== undefined) return anonymous;
  if (!isActionName(action)) return noAction;
  return allowsAction(principal, action) ? undefined : insufficientScope(actionScope(action));
}

export const noAction = new Problem(
  "not-found",
  "There is no action with this name. GET /-/actions lists the actions that this token may run.",
);
