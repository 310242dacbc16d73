// What a caller may do with a collection: decided once for each request, and asked by whatever reads or writes.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { namesOwner } from "../model/access/grant.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import type { Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { accessName, systemName } from "../model/system-collections.ts";
import { allows, isAdmin, type Verb } from "../model/token.ts";
import type { ReadState } from "../store/store.ts";
import type { BoundRules } from "./bound-rules.ts";
import { type Mask, type Masks, masksOf } from "./mask.ts";
import { ownedBy } from "./owned-by.ts";
import {
  collectionNotFound,
  insufficientScope,
  keyRequired,
  notAllowed,
  preconditionRequired,
  unauthenticated,
} from "./problems.ts";
import type { RuleFacts } from "./rule-facts.ts";
import { CursorSeal } from "./sealed-cursor.ts";
import { View, wholeGrant, wholeView } from "./view.ts";

/** What a caller asks to do with a collection. `put` creates or updates, depending on the state. */
export type CollectionPermission = Verb | "put";

/** What is needed where callers see a part. */
interface RuleAccess {
  readonly bound?: BoundRules | undefined;
  /** The secret of the store, which keys validators. */
  readonly key?: string;
  readonly early?: EarlyRead | undefined;
}

/** A resource that is read at the same time as what the rules depend on. */
export interface EarlyRead {
  readonly id: string;
  readonly found: Promise<Resource | undefined>;
}

const noRules: RuleAccess = {};

export class CollectionAccess {
  readonly principal: Principal;
  readonly name: string;
  /** Undefined when the collection does not exist; an admin's write creates it. */
  readonly rules: Rules | undefined;
  /** The grants and the boundary with the values of the caller; undefined where only shorthands decide. */
  readonly bound: BoundRules | undefined;
  readonly #masks: Masks;
  /** The permission that was checked last and is granted, so that each is checked once. */
  #granted: CollectionPermission | undefined;
  #ownView: View | undefined;
  #facts: RuleFacts | undefined;
  #early: EarlyRead | undefined;

  constructor(
    principal: Principal,
    name: string,
    rules: Rules | undefined,
    { bound, key, early }: RuleAccess = noRules,
  ) {
    this.principal = principal;
    this.name = name;
    this.rules = rules;
    this.bound = bound;
    this.#masks = masksOf(rules, key, principal);
    this.#early = early;
  }

  /** Returns the resource that is read already, once: it can have changed after that. */
  takeEarly(id: string): EarlyRead["found"] | undefined {
    const early = this.#early;
    this.#early = undefined;
    return early?.id === id ? early.found : undefined;
  }

  get isAdmin(): boolean {
    return isAdmin(this.principal);
  }

  /** Whether the first write creates the collection. */
  get createsCollection(): boolean {
    return this.rules === undefined && this.isAdmin && isCollectionName(this.name);
  }

  /** Whether it is an administrator, who sees more than the rules show to others. */
  get isForAdmin(): boolean {
    return this.#fixedMask.isForAdmin;
  }

  /** Whether shared caches may store what the principal is shown. */
  get isOpen(): boolean {
    return this.#fixedMask.isOpen;
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
    if (systemName.test(this.name)) return collectionNotFound(this.name);
    if (this.rules !== undefined) return undefined;
    const isCreating = permission === "create" || permission === "put";
    return isCreating && !this.createsCollection ? collectionNotFound(this.name) : undefined;
  }

  #forbids(verb: Verb): Problem | undefined {
    if (this.bound !== undefined)
      return this.bound.view(verb) === undefined ? this.#noGrant(verb) : undefined;
    if (allows(this.principal, this.name, verb)) return undefined;
    if (this.rules !== undefined && definitionOf(this.rules).access[verb] === "public")
      return undefined;
    return this.principal.kind === "anonymous"
      ? unauthenticated
      : insufficientScope(`${this.name}:${verb}`);
  }

  /** Names no rule: a scope only where a token with it could pass. */
  #noGrant(verb: Verb): Problem {
    if (this.principal.kind === "anonymous") return unauthenticated;
    return allows(this.principal, this.name, verb)
      ? notAllowed
      : insufficientScope(`${this.name}:${verb}`);
  }

  /** What the principal may do with a verb. `require` must have passed. */
  view(verb: Verb): View {
    if (this.bound !== undefined) return this.bound.view(verb) ?? nothing;
    const owner = this.visibleOwner(verb);
    if (owner === undefined) return wholeView;
    this.#ownView ??= new View([{ ...wholeGrant, where: ownedBy(owner) }]);
    return this.#ownView;
  }

  /** A collection may require an Idempotency-Key on POST. */
  requireKey(key: string | undefined): Problem | undefined {
    if (this.rules === undefined || key !== undefined || this.#isOperator) return undefined;
    return definitionOf(this.rules).idempotencyKey === "required" ? keyRequired : undefined;
  }

  /** A collection may require a precondition by entity tag on every change. */
  requirePrecondition(isByTag: boolean): Problem | undefined {
    if (this.rules === undefined || isByTag || this.#isOperator) return undefined;
    return definitionOf(this.rules).preconditions === "required" ? preconditionRequired : undefined;
  }

  /** A command repeats what it does by itself, and no client changes what it has read. */
  get #isOperator(): boolean {
    return this.principal.kind === "system";
  }

  /** Whether access depends on the owner of a resource. */
  get isOwned(): boolean {
    return this.rules !== undefined && namesOwner(definitionOf(this.rules));
  }

  /** The owner of a resource that the principal creates. */
  get creator(): Pick<Resource, "owner"> {
    const { subject } = this.principal;
    return subject !== undefined && this.isOwned ? { owner: subject } : {};
  }

  /** Returns the only owner whose resources the principal may access with this verb; undefined for all. */
  visibleOwner(verb: Verb): string | undefined {
    if (this.rules === undefined || this.bound !== undefined) return undefined;
    if (definitionOf(this.rules).access[verb] !== "owner") return undefined;
    // No resource has the owner "". Only administrators access resources without an owner.
    return this.isAdmin ? undefined : (this.principal.subject ?? "");
  }

  /** What the rules ask about other resources, for the whole request. */
  get facts(): RuleFacts | undefined {
    this.#facts ??= this.bound?.newFacts();
    return this.#facts;
  }

  /** Set when the rules ask about resources that are still read: then they must be evaluated again after it. */
  get loading(): Promise<unknown> | undefined {
    return this.#facts?.loading;
  }

  /** Evaluates rules, and again when they ask about resources that had to be read first. */
  decide<T>(evaluate: () => T): MaybePromise<T> {
    const decision = evaluate();
    const { loading } = this;
    return loading === undefined ? decision : loading.then(() => this.decide(evaluate));
  }

  /** What the rules and the roles of the caller were decided by; undefined when that is nothing. */
  get ruleReads(): readonly ReadState[] | undefined {
    const { accessVersion: version } = this.principal;
    if (this.bound === undefined && version === undefined) return undefined;
    const roles = version === undefined ? [] : [{ collection: accessName, version }];
    const reads = [...roles, ...(this.bound?.setReads ?? []), ...(this.#facts?.reads ?? [])];
    return reads.length === 0 ? undefined : reads;
  }

  /**
   * Whether the principal may access the resource: one that it cannot read, it cannot change either. With
   * rules, whether it sees the resource; what it may do with it is decided by the grants.
   */
  includes(verb: Verb, resource: Resource): boolean {
    const { bound, facts } = this;
    if (bound !== undefined && facts !== undefined) return bound.includes(verb, resource, facts);
    return this.#sees("read", resource) && (verb === "read" || this.#sees(verb, resource));
  }

  /** Must be called for what `includes` rejects, and for what is missing (see `BoundRules`). */
  askForUnseen(verb: Verb, id: string): void {
    if (this.facts !== undefined) this.bound?.askForUnseen(verb, id, this.facts);
  }

  #sees(verb: Verb, { owner }: Resource): boolean {
    const visibleOwner = this.visibleOwner(verb);
    return visibleOwner === undefined || visibleOwner === owner;
  }

  /** Whether the principal may read a resource that it writes; if not, the response has no content. */
  mayRead(resource: Resource): boolean {
    return this.require("read") === undefined && this.includes("read", resource);
  }

  /** How the principal sees a resource; undefined when it may not read it. */
  mask(resource: Resource): MaybePromise<Mask | undefined> {
    return this.bound === undefined
      ? this.maskNow(resource)
      : this.decide(() => this.maskNow(resource));
  }

  /** The same, to be evaluated again while facts are loading. */
  maskNow(resource: Resource): Mask | undefined {
    const { bound } = this;
    if (bound === undefined) return this.mayRead(resource) ? this.#fixedMask : undefined;
    const view = bound.view("read");
    if (view === undefined) return undefined;
    if (view.isWhole) return this.#masks.whole;
    const holding = view.holding(resource, view.isRelated ? this.facts : undefined);
    return holding.length === 0 ? undefined : this.#masks.part(holding);
  }

  /** How the principal sees the resources of a list. */
  masksOf(resources: readonly Resource[]): MaybePromise<(resource: Resource) => Mask> {
    const view = this.bound?.view("read");
    if (view === undefined || !view.hidesFields) {
      const mask = view && !view.isWhole ? this.#masks.part([wholeGrant]) : this.#fixedMask;
      return () => mask;
    }
    const maskOf = (resource: Resource) => this.maskNow(resource) ?? this.#masks.part([]);
    if (!view.isRelated) return maskOf;
    return then(
      this.decide(() => resources.map(maskOf)),
      () => maskOf,
    );
  }

  /** For the validator of what the principal wrote and may not read. With rules there is none: it would show what others do. */
  get writtenMask(): Mask | undefined {
    return this.bound === undefined ? this.#fixedMask : undefined;
  }

  /** Encrypts the cursors of a principal who sees a part. */
  get seal(): CursorSeal | undefined {
    const { key } = this.#masks;
    if (key === undefined || this.view("read").isWhole) return undefined;
    return new CursorSeal(key, `${this.name}\n${this.principal.subject ?? ""}`);
  }

  /** Whether a validator is that of the resource's state, as any caller sees it. */
  isValidator(text: string, resource: Resource): boolean {
    return this.#masks.whole.isValidator(text, resource);
  }

  /** Whether the principal is shown the time of the last change, as far as it is known without other resources. */
  showsUpdates(resource: Resource): boolean {
    if (this.bound === undefined) return true;
    const view = this.bound.view("read");
    if (view === undefined || view.showsAlways("updatedAt")) return view !== undefined;
    return !view.isRelated && this.maskNow(resource)?.showsUpdates === true;
  }

  /** How a principal sees every resource that it can read, without grants. */
  get #fixedMask(): Mask {
    if (this.isAdmin) return this.#masks.forAdmin;
    const isPart = this.#masks.key !== undefined && this.visibleOwner("read") !== undefined;
    return isPart ? this.#masks.part([wholeGrant]) : this.#masks.whole;
  }
}

/** Nothing matches it. */
const nothing = new View([]);
