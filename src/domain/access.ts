// Finds the principal of a secret, and decides what it may do: with a collection, with an action, as an admin.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { ownText } from "../lib/own-text.ts";
import { RecentMap } from "../lib/recent-map.ts";
import { hasRules } from "../model/access/grant.ts";
import { isActionName } from "../model/action-schema.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { anonymous, type Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import {
  accessDocumentOf,
  accessName,
  accessVersionOf,
  withRoleScopes,
} from "../model/schemas/access.ts";
import { hashSecret, isSecret } from "../model/secret.ts";
import {
  actionScope,
  allowsAction,
  isAdmin,
  isAlive,
  readsMetrics,
  type Token,
} from "../model/token.ts";
import type { Store } from "../store/store.ts";
import {
  CollectionAccess,
  type CollectionPermission,
  type EarlyRead,
} from "./collection-access.ts";
import { RuleCompiler } from "./compile-rules.ts";
import { insufficientScope, tokenEnded, unauthenticated } from "./problems.ts";
import { Sets } from "./sets.ts";
import { TokenUses, useResolutionMs } from "./token-uses.ts";
import { everything } from "./view.ts";

/** To find a token takes as long as a whole GET, so recent callers are cached. */
const maxCallers = 200_000;

interface Caller {
  /** The same object while neither the token nor the access document changes. */
  readonly principal: Principal;
  /** The access document, if the token has roles and there is one. */
  readonly document: Rules | undefined;
  /** When its last use was noted. */
  usedAt: number;
}

export class Access {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #uses: TokenUses;
  readonly compiler: RuleCompiler;
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
    this.compiler = new RuleCompiler(store, clock, new Sets({ store, clock, warn }));
  }

  /** Returns the principal of a valid secret. The lookup is by hash, so its timing reveals nothing. */
  identify(secret: string): MaybePromise<Principal | undefined> {
    const caller = this.#callers.get(secret);
    if (caller === undefined && !isSecret(secret)) return undefined;
    // First, because a commit after it has another number.
    const version = this.#store.tokenVersion?.();
    const token = caller ? this.#readAgain(caller.principal, version) : this.#read(secret);
    return token instanceof Promise
      ? token.then((found) => this.#admit(secret, caller, found, version))
      : this.#admit(secret, caller, token, version);
  }

  #read(secret: string): MaybePromise<Token | undefined> {
    return this.#store.token(hashSecret(secret));
  }

  /** Does not read the token while no token has changed. */
  #readAgain(
    { token, tokenVersion }: Principal,
    version: number | undefined,
  ): MaybePromise<Token | undefined> {
    const isSame = version !== undefined && version === tokenVersion;
    return isSame ? token : token && this.#store.token(token.hash);
  }

  #admit(
    secret: string,
    caller: Caller | undefined,
    token: Token | undefined,
    version: number | undefined,
  ): MaybePromise<Principal | undefined> {
    const now = this.#clock();
    if (token === undefined || !isAlive(token, now)) return undefined;
    if (now - (caller?.usedAt ?? 0) >= useResolutionMs) {
      this.#uses.add(token, now);
      if (caller !== undefined) caller.usedAt = now;
    }
    const hasRoles = token.roles.length > 0;
    if (!hasRoles && caller?.principal.token === token && !caller.document) return caller.principal;
    const remember = (document: Rules | undefined): Principal => {
      const isSame = caller?.principal.token === token && caller.document === document;
      if (isSame) return caller.principal;
      const principal = principalOf(token, document, version);
      // Only the callers with valid tokens are cached, so that guesses do not fill the cache.
      this.#callers.set(ownText(secret), { principal, document, usedAt: now });
      return principal;
    };
    return hasRoles ? then(this.#store.rules(accessName), remember) : remember(undefined);
  }

  /** Returns the principal as it is now. Its token can have ended, and its roles can have changed. */
  renew(principal: Principal): MaybePromise<Principal | Problem> {
    const { token, accessVersion } = principal;
    if (token === undefined) return principal;
    const version = this.#store.tokenVersion?.();
    const read = this.#readAgain(principal, version);
    if (read === token && token.roles.length === 0 && isAlive(token, this.#clock()))
      return principal;
    return then(read, (current) => {
      if (current === undefined || !isAlive(current, this.#clock())) return tokenEnded;
      if (current.roles.length === 0) return principal;
      return then(this.#store.rules(accessName), (document) =>
        accessVersionOf(document) === accessVersion
          ? principal
          : principalOf(current, document, version),
      );
    });
  }

  /** Returns who holds the token with this hash now; the anonymous caller for none, undefined when it has ended. */
  holder(hash: string): MaybePromise<Principal | undefined> {
    if (hash === "") return anonymous;
    const version = this.#store.tokenVersion?.();
    return then(this.#store.token(hash), (token) => {
      if (token === undefined || !isAlive(token, this.#clock())) return undefined;
      return token.roles.length === 0
        ? principalOf(token, undefined, version)
        : then(this.#store.rules(accessName), (rules) => principalOf(token, rules, version));
    });
  }

  /** Records a use by a principal that was identified before; false when its token has expired since. */
  use({ token }: Principal, now: number): boolean {
    if (token === undefined || !isAlive(token, now)) return false;
    this.#uses.add(token, now);
    return true;
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

function principalOf(
  token: Token,
  document: Rules | undefined,
  tokenVersion: number | undefined,
): Principal {
  const { subject, scopes, roles } = token;
  if (roles.length === 0) return { kind: "token", subject, scopes, roles, token, tokenVersion };
  const held = withRoleScopes(token, accessDocumentOf(document));
  const accessVersion = accessVersionOf(document);
  return { kind: "token", subject, ...held, token, tokenVersion, accessVersion };
}

/** Returns a problem for an anonymous caller. */
export const requireToken = ({ kind }: Principal): Problem | undefined =>
  kind === "anonymous" ? unauthenticated : undefined;

export const requireAdmin = (principal: Principal): Problem | undefined =>
  requireToken(principal) ?? (isAdmin(principal) ? undefined : insufficientScope("admin"));

export const requireMetrics = (principal: Principal): Problem | undefined =>
  requireToken(principal) ?? (readsMetrics(principal) ? undefined : insufficientScope("metrics"));

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
