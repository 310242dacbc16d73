// Finds the principal of a secret, and decides what it may do: with a collection, with an action, as an admin.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { RecentMap } from "../lib/recent-map.ts";
import { isActionName } from "../model/action-schema.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { accessDocumentOf, accessName, withRoleScopes } from "../model/schemas/access.ts";
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
import { collectionNotFound } from "./problems.ts";
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
  readonly #callers = new RecentMap<string, Caller>(maxCallers);

  constructor(store: Store, clock: () => number, uses: TokenUses = new TokenUses(store)) {
    this.#store = store;
    this.#clock = clock;
    this.#uses = uses;
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

  /** Records a use by a principal that was identified before; false when its token has expired since. */
  use({ token }: Principal): boolean {
    const now = this.#clock();
    if (token === undefined || !isAlive(token, now)) return false;
    this.#uses.add(token, now);
    return true;
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
}

const principalOf = (token: Token, document: Rules | undefined): Principal => ({
  kind: "token",
  subject: token.subject,
  scopes: document
    ? withRoleScopes(token.scopes, token.roles, accessDocumentOf(document))
    : token.scopes,
  roles: token.roles,
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

/** What a caller asks to do with a collection. `put` creates or updates, depending on the state. */
export type CollectionPermission = Verb | "put";

export class CollectionAccess {
  readonly principal: Principal;
  readonly name: string;
  /** Undefined when the collection does not exist; an admin's write creates it. */
  readonly rules: Rules | undefined;
  /** The permission that was checked last and is granted, so that each is checked once. */
  #granted: CollectionPermission | undefined;

  constructor(principal: Principal, name: string, rules: Rules | undefined) {
    this.principal = principal;
    this.name = name;
    this.rules = rules;
  }

  get isAdmin(): boolean {
    return isAdmin(this.principal);
  }

  /**
   * Returns a problem when the principal may not do this. A caller without the scope gets the same
   * problem whether or not the collection exists.
   */
  require(permission: CollectionPermission): Problem | undefined {
    if (permission === this.#granted) return undefined;
    const problem = this.#check(permission);
    if (problem === undefined) this.#granted = permission;
    return problem;
  }

  #check(permission: CollectionPermission): Problem | undefined {
    const forbidden =
      permission === "put"
        ? this.#forbids("create") && this.#forbids("update")
        : this.#forbids(permission);
    if (forbidden !== undefined) return forbidden;
    // The access document is stored like a collection, and is none.
    if (this.name === accessName) return collectionNotFound(this.name);
    if (this.rules !== undefined) return undefined;
    const isCreating = permission === "create" || permission === "put";
    const mayCreateCollection = this.isAdmin && isCollectionName(this.name);
    return isCreating && !mayCreateCollection ? collectionNotFound(this.name) : undefined;
  }

  #forbids(verb: Verb): Problem | undefined {
    if (allows(this.principal, this.name, verb)) return undefined;
    if (this.rules !== undefined && definitionOf(this.rules).access[verb] === "public")
      return undefined;
    return this.principal.kind === "anonymous"
      ? unauthenticated
      : insufficientScope(`${this.name}:${verb}`);
  }

  /** A collection may require an Idempotency-Key on POST. */
  requireKey(key: string | undefined): Problem | undefined {
    if (this.rules === undefined || key !== undefined) return undefined;
    return definitionOf(this.rules).idempotencyKey === "required" ? keyRequired : undefined;
  }

  /** A collection may require a precondition by entity tag on every change. */
  requirePrecondition(isByTag: boolean): Problem | undefined {
    if (this.rules === undefined || isByTag) return undefined;
    return definitionOf(this.rules).preconditions === "required" ? preconditionRequired : undefined;
  }

  /** Whether access depends on the owner of a resource. */
  get isOwned(): boolean {
    return (
      this.rules !== undefined && Object.values(definitionOf(this.rules).access).includes("owner")
    );
  }

  /** The owner of a resource that the principal creates. */
  get creator(): Pick<Resource, "owner"> {
    const { subject } = this.principal;
    return subject !== undefined && this.isOwned ? { owner: subject } : {};
  }

  /** Returns the only owner whose resources the principal may access with this verb; undefined for all. */
  visibleOwner(verb: Verb): string | undefined {
    if (this.rules === undefined || definitionOf(this.rules).access[verb] !== "owner")
      return undefined;
    // No resource has the owner "". Only administrators access resources without an owner.
    return this.isAdmin ? undefined : (this.principal.subject ?? "");
  }

  /** Whether the principal may access the resource: one that it cannot read, it cannot change either. */
  includes(verb: Verb, resource: Resource): boolean {
    return this.#sees("read", resource) && (verb === "read" || this.#sees(verb, resource));
  }

  #sees(verb: Verb, { owner }: Resource): boolean {
    const visibleOwner = this.visibleOwner(verb);
    return visibleOwner === undefined || visibleOwner === owner;
  }

  /** Whether the principal may read a resource that it writes; if not, the response has no content. */
  mayRead(resource: Resource): boolean {
    return this.#forbids("read") === undefined && this.includes("read", resource);
  }
}

/** Returns the rules of a collection that exists and that the caller may read. */
export const readableRules = (access: CollectionAccess): Rules | undefined =>
  access.require("read") === undefined ? access.rules : undefined;

export const insufficientScope = (scope: string): Problem =>
  new Problem("insufficient-scope", `The token needs the scope ${scope}.`, { scope });

export const unauthenticated = new Problem(
  "unauthenticated",
  "Send a token: `Authorization: Bearer rst_…`.",
);

const preconditionRequired = new Problem(
  "precondition-required",
  "Send If-Match with the current ETag, or If-None-Match: * to create the resource.",
);

const keyRequired = new Problem(
  "key-required",
  "Send an Idempotency-Key, so that the request can be retried safely.",
);
