// Binds the rules of a collection to a caller: fills in the caller's values, and keeps the result while they stay.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { CallerValues, RuleCondition } from "../model/access/caller-values.ts";
import { absent, boundValue, isList } from "../model/access/caller-values.ts";
import { type Grant, grantsOf } from "../model/access/grant.ts";
import { fixedFields, setsOf, usesNow } from "../model/access/rule-fields.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { type Principal, system } from "../model/principal.ts";
import type { Predicate } from "../model/query/predicate.ts";
import { queryableFieldsOf } from "../model/query/queryable.ts";
import { type Verb, verbs } from "../model/token.ts";
import type { Store } from "../store/store.ts";
import { BoundRules } from "./bound-rules.ts";
import { buildRule } from "./build-where.ts";
import { CollectionAccess } from "./collection-access.ts";
import { isFor } from "./grant-callers.ts";
import { ownedBy } from "./owned-by.ts";
import { RelatedCollections } from "./related-fields.ts";
import { RuleFacts } from "./rule-facts.ts";
import type { CallerSets, Sets } from "./sets.ts";
import { type BoundGrant, View } from "./view.ts";

interface Bound {
  readonly rules: BoundRules;
  readonly sets: CallerSets;
}

export class RuleBinder {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #sets: Sets;
  readonly #bound = new WeakMap<Rules, WeakMap<Principal, Bound>>();

  constructor(store: Store, clock: () => number, sets: Sets) {
    this.#store = store;
    this.#clock = clock;
    this.#sets = sets;
  }

  bind(principal: Principal, name: string, rules: Rules): MaybePromise<BoundRules> {
    return then(this.#sets.read(principal.subject, setsOf(rules)), (sets) => {
      const known = this.#bound.get(rules)?.get(principal);
      if (known?.sets === sets && !usesNow(rules)) return known.rules;
      return then(this.#build(principal, name, rules, sets), (built) => {
        const byPrincipal = this.#bound.get(rules) ?? new WeakMap<Principal, Bound>();
        this.#bound.set(rules, byPrincipal);
        byPrincipal.set(principal, { rules: built, sets });
        return built;
      });
    });
  }

  /** Builds again after other collections were read. */
  #build(
    principal: Principal,
    name: string,
    rules: Rules,
    sets: CallerSets,
    related = this.related(),
  ): MaybePromise<BoundRules> {
    const values = this.#values(principal, sets);
    const views = new ViewBuilder(principal, name, rules, values, related).views();
    const { loading } = related;
    if (loading !== undefined)
      return loading.then(() => this.#build(principal, name, rules, sets, related));
    return new BoundRules(
      views,
      sets,
      fixedFields(definitionOf(rules)),
      usesNow(rules) || sets.isTimed,
      () => new RuleFacts(this.#store),
    );
  }

  /** Returns what the values in the rules stand for. */
  values(principal: Principal, rules: Rules): MaybePromise<CallerValues> {
    return then(this.#sets.read(principal.subject, setsOf(rules)), (sets) =>
      this.#values(principal, sets),
    );
  }

  #values({ subject, roles }: Principal, sets: CallerSets): CallerValues {
    return {
      me: subject,
      roles,
      now: this.#clock(),
      set: (name) => (subject === undefined ? undefined : sets.values(name)),
    };
  }

  /** Rules are the administrator's, so that they see everything. */
  related(): RelatedCollections {
    return new RelatedCollections((name) =>
      then(this.#store.rules(name), (rules) => new CollectionAccess(system, name, rules)),
    );
  }
}

class ViewBuilder {
  readonly #principal: Principal;
  readonly #name: string;
  readonly #rules: Rules;
  readonly #values: CallerValues;
  readonly #related: RelatedCollections;

  constructor(
    principal: Principal,
    name: string,
    rules: Rules,
    values: CallerValues,
    related: RelatedCollections,
  ) {
    this.#principal = principal;
    this.#name = name;
    this.#rules = rules;
    this.#values = values;
    this.#related = related;
  }

  views(): Partial<Record<Verb, View>> {
    const definition = definitionOf(this.#rules);
    const boundary = this.#predicate(definition.boundary);
    if (boundary === "never") return {};
    const views: Partial<Record<Verb, View>> = {};
    for (const verb of verbs) {
      const grants = grantsOf(definition, verb).flatMap((grant, index) =>
        this.#grant(verb, grant, index, boundary),
      );
      if (grants.length > 0) views[verb] = new View(grants);
    }
    return views;
  }

  /** Returns nothing for a grant that does not apply to the caller. */
  #grant(
    verb: Verb,
    grant: Grant,
    index: number,
    boundary: Predicate | undefined,
  ): readonly BoundGrant[] {
    if (!isFor(this.#principal, this.#name, verb, grant)) return [];
    const where = this.#predicate(grant.where);
    const check = this.#predicate(grant.check);
    const set = this.#set(grant.set);
    if (where === "never" || check === "never" || set === "never") return [];
    const { subject } = this.#principal;
    const owned = grant.to === "owner" ? [ownedBy(subject ?? "")] : [];
    return [
      {
        name: grant.name,
        index,
        where: verb === "create" ? undefined : allOf([boundary, ...owned, where]),
        check: allOf([boundary, check]),
        fields: grant.fields,
        set,
      },
    ];
  }

  /** Returns undefined without a condition, and `never` when the caller does not have one of its values. */
  #predicate(condition: RuleCondition | undefined): Predicate | undefined | "never" {
    if (condition === undefined) return undefined;
    const queryable = queryableFieldsOf(this.#rules.definition);
    const built = buildRule(queryable, condition, this.#values, this.#related);
    // A field of another collection can be gone since the rule was defined.
    if (built.isAbsent || built.errors.length > 0) return "never";
    return allOf(built.predicates);
  }

  #set(given: Grant["set"]): BoundGrant["set"] | "never" {
    if (given === undefined) return undefined;
    const entries = Object.entries(given).map(
      ([field, operand]) => [field, settableValue(operand, this.#values)] as const,
    );
    return entries.some(([, value]) => value === absent) ? "never" : Object.fromEntries(entries);
  }
}

/** A name of a list stands for its values. */
function settableValue(operand: unknown, values: CallerValues): unknown {
  const value = boundValue(operand, values);
  return typeof operand === "string" && isList(value) ? value.list : value;
}

function allOf(parts: readonly (Predicate | undefined)[]): Predicate | undefined {
  const given = parts.filter((part) => part !== undefined);
  return given.length < 2 ? given[0] : { allOf: given };
}
