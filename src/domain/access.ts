// Decides what a principal may do: with a collection, with an action, as an admin.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { hasRules } from "../model/access/grant.ts";
import { isActionName } from "../model/action-schema.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { actionScope, allowsAction, isAdmin, isIssuer, readsMetrics } from "../model/token.ts";
import type { Store } from "../store/store.ts";
import { Callers } from "./callers.ts";
import {
  CollectionAccess,
  type CollectionPermission,
  type EarlyRead,
} from "./collection-access.ts";
import { RuleCompiler } from "./compile-rules.ts";
import { insufficientScope, unauthenticated } from "./problems.ts";
import { Sets } from "./sets.ts";
import type { TokenUses } from "./token-uses.ts";
import { everything } from "./view.ts";

export class Access {
  readonly #store: Store;
  readonly callers: Callers;
  readonly compiler: RuleCompiler;
  /** The secret of the store, once it is read. */
  #key: string | undefined;

  /** `warn` logs a set that counts as empty. */
  constructor(
    store: Store,
    clock: () => number,
    uses?: TokenUses,
    warn: (message: string) => void = () => undefined,
  ) {
    this.#store = store;
    this.callers = new Callers(store, clock, uses);
    this.compiler = new RuleCompiler(store, clock, new Sets({ store, clock, warn }));
  }

  /** Reads the rules of a collection. Every use of the result checks its own permission. */
  collection(principal: Principal, name: string, id?: string): MaybePromise<CollectionAccess> {
    const rules = this.#store.rules(name);
    if (!(rules instanceof Promise)) return this.byRules(principal, name, rules, id);
    return rules.then((found) => this.byRules(principal, name, found, id));
  }

  /** Opens a collection with rules that were read, to read the resource with this id, if there is one. */
  byRules(
    principal: Principal,
    name: string,
    rules: Rules | undefined,
    id?: string,
  ): MaybePromise<CollectionAccess> {
    const definition = rules && definitionOf(rules);
    const isPart = definition && (definition.access.read === "owner" || hasRules(definition));
    return then(isPart ? (this.#key ?? this.#readKey()) : undefined, (key) => {
      const compiled = isAdmin(principal)
        ? everything
        : this.compiler.compile(principal, name, rules);
      if (!(compiled instanceof Promise))
        return new CollectionAccess(principal, name, rules, compiled, { key });
      const early = id === undefined ? undefined : this.#readEarly(name, id);
      return compiled.then(
        (caller) => new CollectionAccess(principal, name, rules, caller, { key, early }),
      );
    });
  }

  /** Reads the resource at the same time as the sets of the caller. */
  #readEarly(name: string, id: string): EarlyRead {
    const found = Promise.resolve(this.#store.find(name, id));
    // Without this, nobody hears of an error when the sets cannot be read either.
    found.catch(() => undefined);
    return { id, found };
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
    id?: string,
  ): MaybePromise<CollectionAccess | Problem> {
    const early = permission === "read" ? id : undefined;
    return then(
      this.collection(principal, name, early),
      (access) => access.require(permission) ?? access,
    );
  }
}

/** Returns a problem for an anonymous caller. */
export const requireToken = ({ kind }: Principal): Problem | undefined =>
  kind === "anonymous" ? unauthenticated : undefined;

export const requireAdmin = (principal: Principal): Problem | undefined =>
  requireToken(principal) ?? (isAdmin(principal) ? undefined : insufficientScope("admin"));

export const requireMetrics = (principal: Principal): Problem | undefined =>
  requireToken(principal) ?? (readsMetrics(principal) ? undefined : insufficientScope("metrics"));

export const requireIssuer = (principal: Principal): Problem | undefined =>
  requireToken(principal) ?? (isIssuer(principal) ? undefined : insufficientScope("admin"));

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
