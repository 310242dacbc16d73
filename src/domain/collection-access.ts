// What a caller may do with a collection: decided once for each request, and asked by whatever reads or writes.

import { evaluated, type MaybePromise, then } from "../lib/maybe-promise.ts";
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
import { type Mask, type Masks, masksOf } from "./mask.ts";
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
import { type CallerRules, View, wholeGrant } from "./view.ts";

/** What a caller asks to do with a collection. `put` creates or updates, depending on the state. */
export type CollectionPermission = Verb | "put";

/** What is needed where callers see a part. */
interface RuleAccess {
  /** The secret of the store, which keys validators. */
  readonly key?: string | undefined;
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
  /** What the caller may do. */
  readonly caller: CallerRules;
  readonly #masks: Masks;
  /** The permission that was checked last and is granted, so that each is checked once. */
  #granted: CollectionPermission | undefined;
  #facts: RuleFacts | undefined;
  #early: EarlyRead | undefined;

  constructor(
    principal: Principal,
    name: string,
    rules: Rules | undefined,
    caller: CallerRules,
    { key, early }: RuleAccess = noRules,
  ) {
    this.principal = principal;
    this.name = name;
    this.rules = rules;
    this.caller = caller;
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

  /** Whether shared caches may store what the principal is shown. */
  get isOpen(): boolean {
    return this.#wholeMask.isOpen;
  }

  /** Whether others are shown something else. */
  get isByCaller(): boolean {
    return this.#wholeMask.isByCaller;
  }

  /** Callers with the same key are shown the same of the collection, and caches may store it alike. */
  get audienceKey(): string {
    return `${this.view("read").id}${this.isAdmin ? "a" : ""}${this.isOpen ? "o" : ""}`;
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

  /** Names no rule: a scope only where a token with it could pass. */
  #forbids(verb: Verb): Problem | undefined {
    if (this.caller.views[verb] !== undefined) return undefined;
    if (this.principal.kind === "anonymous") return unauthenticated;
    return allows(this.principal, this.name, verb)
      ? notAllowed
      : insufficientScope(`${this.name}:${verb}`);
  }

  /** What the principal may do with a verb. `require` must have passed. */
  view(verb: Verb): View {
    return this.caller.views[verb] ?? nothing;
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

  /** What the rules ask about other resources, for the whole request. */
  get facts(): RuleFacts | undefined {
    this.#facts ??= this.caller.newFacts?.();
    return this.#facts;
  }

  /** Set when the rules ask about resources that are still read: then they must be evaluated again after it. */
  get loading(): Promise<unknown> | undefined {
    return this.#facts?.loading;
  }

  /** Evaluates rules, and again when they ask about resources that had to be read first. */
  decide<T>(evaluate: () => T): MaybePromise<T> {
    return evaluated(evaluate, () => this.loading);
  }

  /** What the rules and the roles of the caller were decided by; undefined when that is nothing. */
  get ruleReads(): readonly ReadState[] | undefined {
    const { accessVersion: version } = this.principal;
    const roles = version === undefined ? [] : [{ collection: accessName, version }];
    const reads = [...roles, ...this.caller.sets.reads, ...(this.#facts?.reads ?? [])];
    return reads.length === 0 ? undefined : reads;
  }

  /** Whether the resource is there for a request of the principal with a verb. */
  includes(verb: Verb, resource: Resource): boolean {
    return this.caller.seen[verb]?.includes(resource, this.facts) === true;
  }

  /**
   * Must be called for what `includes` rejects, and for what is missing. Reads another resource, unless the
   * rules have asked for one: the time of the response must not tell whether it is hidden or missing.
   */
  askForUnseen(verb: Verb, id: string): void {
    const { facts } = this;
    const [related] = this.caller.seen[verb]?.related ?? [];
    if (related !== undefined && facts?.isUnused) facts.matches(related, id);
  }

  /** Whether the principal may read a resource that it writes; if not, the response has no content. */
  mayRead(resource: Resource): boolean {
    return this.require("read") === undefined && this.includes("read", resource);
  }

  /** How the principal sees a resource; undefined when it may not read it. */
  mask(resource: Resource): MaybePromise<Mask | undefined> {
    const { read } = this.caller.views;
    return read?.isRelated ? this.decide(() => this.maskNow(resource)) : this.maskNow(resource);
  }

  /** The same, to be evaluated again while facts are loading. */
  maskNow(resource: Resource): Mask | undefined {
    const { read } = this.caller.views;
    if (read === undefined) return undefined;
    if (read.isWhole) return this.#wholeMask;
    const holding = read.holding(resource, read.isRelated ? this.facts : undefined);
    return holding.length === 0 ? undefined : this.#masks.part(holding);
  }

  /** How the principal sees the resources of a list. */
  masksOf(resources: readonly Resource[]): MaybePromise<(resource: Resource) => Mask> {
    const view = this.view("read");
    if (!view.hidesFields) {
      const mask = view.isWhole ? this.#wholeMask : this.#masks.part([wholeGrant]);
      return () => mask;
    }
    const maskOf = (resource: Resource) => this.maskNow(resource) ?? this.#masks.part([]);
    if (!view.isRelated) return maskOf;
    return then(
      this.decide(() => resources.map(maskOf)),
      () => maskOf,
    );
  }

  /**
   * How the principal knows a resource that it writes and may not read: for the validator. With grants there
   * is none, because it would show what others do.
   */
  get writtenMask(): Mask | undefined {
    const { views, writesWhole } = this.caller;
    if (!writesWhole) return undefined;
    const isPart = views.read ? !views.read.isWhole : this.#masks.key !== undefined;
    return isPart ? this.#masks.part([wholeGrant]) : this.#wholeMask;
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
    const { views, writesWhole } = this.caller;
    if (views.read === undefined) return writesWhole;
    if (views.read.showsAlways("updatedAt")) return true;
    return !views.read.isRelated && this.maskNow(resource)?.showsUpdates === true;
  }

  /** How a principal sees a resource of a collection that it sees all of. */
  get #wholeMask(): Mask {
    return this.isAdmin ? this.#masks.forAdmin : this.#masks.whole;
  }
}

/** Nothing matches it. */
const nothing = new View([]);
