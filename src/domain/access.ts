// Finds the principal of a secret, and decides what it may do: with a collection, with an action, as an admin.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { RecentMap } from "../lib/recent-map.ts";
import { hasRules } from "../model/access/grant.ts";
import { isActionName } from "../model/action-schema.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import {
  accessDocumentOf,
  accessName,
  accessVersionOf,
  withRoleScopes,
} from "../model/schemas/access.ts";
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
import { RuleBinder } from "./bind-rules.ts";
import {
  CollectionAccess,
  type CollectionPermission,
  insufficientScope,
  unauthenticated,
} from "./collection-access.ts";
import { Sets } from "./sets.ts";
import { TokenUses } from "./token-uses.ts";

/** The checksum and the hash are a tenth of the work of a GET, so those of recent tokens are cached. */
const maxCallers = 200_000;

interface Caller {
  readonly hash: string;
  /** The same object while neither the token nor the access document changes. */
  readonly principal: Principal;
  /** The access document, if the token has roles and there is one. */
  readonly document: Rules | undefined;
}

export class Access {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #uses: TokenUses;
  readonly binder: RuleBinder;
  /** The secret of the store, once it is read. */
  #key: string | undefined;
  readonly #callers = new RecentMap<string, Caller>(maxCallers);

  /** `warn` logs a set that counts as empty. */
  constructor(
    store: Store,
    clock: () => number,
    uses: TokenUses = new TokenUses(store),
    warn: (message: string) => void = () => undefined,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#uses = uses;
    this.binder = new RuleBinder(store, clock, new Sets({ store, clock, warn }));
  }

  /** Returns the principal of a valid secret. The lookup is by hash, so its timing reveals nothing. */
  identify(secret: string): MaybePromise<Principal | undefined> {
    const caller = this.#callers.get(secret);
    if (caller === undefined && !isSecret(secret)) return undefined;
    const hash = caller?.hash ?? hashSecret(secret);
    return then(this.#store.token(hash), (token) => {
      const now = this.#clock();
      if (token === undefined || !isAlive(token, now)) return undefined;
      this.#uses.add(token, now);
      if (token.roles.length === 0) return this.#remember(secret, caller, token, undefined);
      return then(this.#store.rules(accessName), (document) =>
        this.#remember(secret, caller, token, document),
      );
    });
  }

  #remember(
    secret: string,
    caller: Caller | undefined,
    token: Token,
    document: Rules | undefined,
  ): Principal {
    if (caller?.principal.token === token && caller.document === document) return caller.principal;
    const principal = principalOf(token, document);
    // Only the hashes of valid tokens are cached, so that guesses do not fill the cache.
    this.#callers.set(secret, { hash: token.hash, principal, document });
    return principal;
  }

  /** Returns the principal as it is now. Its token can have ended, and its roles can have changed. */
  renew(principal: Principal): MaybePromise<Principal | Problem> {
    const { token, accessVersion } = principal;
    if (token === undefined) return principal;
    return then(this.#store.token(token.hash), (current) => {
      if (current === undefined || !isAlive(current, this.#clock())) return tokenEnded;
      if (current.roles.length === 0) return principal;
      return then(this.#store.rules(accessName), (document) =>
        accessVersionOf(document) === accessVersion ? principal : principalOf(current, document),
      );
    });
  }

  /** Records a use by a principal that was identified before; false when its token has expired since. */
  use({ token }: Principal): boolean {
    const now = this.#clock();
    if (token === undefined || !isAlive(token, now)) return false;
    this.#uses.add(token, now);
    return true;
  }

  /** Reads the rules of a collection. Every use of the result checks its own permission. */
  collection(principal: Principal, name: string): MaybePromise<CollectionAccess> {
    return then(this.#store.rules(name), (rules) => this.byRules(principal, name, rules));
  }

  /** Opens a collection with rules that were read. */
  byRules(
    principal: Principal,
    name: string,
    rules: Rules | undefined,
  ): MaybePromise<CollectionAccess> {
    if (rules === undefined) return new CollectionAccess(principal, name, rules);
    const definition = definitionOf(rules);
    const isRuled = hasRules(definition);
    if (!isRuled && definition.access.read !== "owner")
      return new CollectionAccess(principal, name, rules);
    return then(this.#key ?? this.#readKey(), (key) =>
      isRuled && !isAdmin(principal)
        ? then(
            this.binder.bind(principal, name, rules),
            (bound) => new CollectionAccess(principal, name, rules, { bound, key }),
          )
        : new CollectionAccess(principal, name, rules, { key }),
    );
  }

  #readKey(): MaybePromise<string> {
    return then(this.#store.secret(), (key) => {
      this.#key = key;
      return key;
    });
  }

  /** Returns the access of a principal that has the permission, otherwise the problem. */
  open(
    principal: Principal,
    name: string,
    permission: CollectionPermission,
  ): MaybePromise<CollectionAccess | Problem> {
    return then(this.collection(principal, name), (access) => access.require(permission) ?? access);
  }
}

function principalOf(token: Token, document: Rules | undefined): Principal {
  const { subject, scopes, roles } = token;
  const caller = { kind: "token", subject, token } as const;
  if (roles.length === 0) return { ...caller, scopes, roles };
  const held = withRoleScopes(token, accessDocumentOf(document));
  return { ...caller, ...held, accessVersion: accessVersionOf(document) };
}

const tokenEnded = new Problem(
  "unauthenticated",
  "The token was revoked or has expired meanwhile. What was not reported as written is not stored.",
);

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
