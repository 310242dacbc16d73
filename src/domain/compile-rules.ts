// Compiles the access of a collection for a caller: the grants that apply, with the caller's values, as a view for each verb.

import { evaluated, Lookup, type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { CallerValues, RuleCondition } from "../model/access/caller-values.ts";
import { absent, callerValue, isList } from "../model/access/caller-values.ts";
import { type Grant, grantsOf, hasRules } from "../model/access/grant.ts";
import { fixedFields, setsOf, usesNow } from "../model/access/rule-fields.ts";
import type { Rules } from "../model/collection.ts";
import { type Definition, definitionOf } from "../model/definition.ts";
import { type Principal, system } from "../model/principal.ts";
import type { Predicate } from "../model/query/predicate.ts";
import { queryableFieldsOf } from "../model/query/queryable.ts";
import { type Verb, verbs } from "../model/token.ts";
import type { Store } from "../store/store.ts";
import { buildRule } from "./build-where.ts";
import { CollectionAccess } from "./collection-access.ts";
import { isFor } from "./grant-callers.ts";
import { ownedBy } from "./owned-by.ts";
import type { RelatedCollections } from "./related-fields.ts";
import { RuleFacts } from "./rule-facts.ts";
import { type CallerSets, noSets, type Sets } from "./sets.ts";
import {
  type AppliedGrant,
  type CallerRules,
  everything,
  View,
  type Views,
  wholeGrant,
  wholeView,
} from "./view.ts";

interface Compiled {
  readonly rules: CallerRules;
  readonly sets: CallerSets;
  /** Whether nothing but the rules and the caller decides. */
  readonly isLasting: boolean;
}

/** A collection that does not exist has the access of one without a definition. */
const noRules: Rules = { version: 0, definition: "{}" };

export class RuleCompiler {
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #sets: Sets;
  readonly #compiled = new WeakMap<Rules, WeakMap<Principal, Compiled>>();

  constructor(store: Store, clock: () => number, sets: Sets) {
    this.#store = store;
    this.#clock = clock;
    this.#sets = sets;
  }

  /**
   * Returns what a caller that is no administrator may do: the same object while neither the rules nor its
   * values change.
   */
  compile(principal: Principal, name: string, rules: Rules | undefined): MaybePromise<CallerRules> {
    if (rules === undefined) return this.#compile(principal, name, noRules);
    const known = this.#compiled.get(rules)?.get(principal);
    if (known?.isLasting) return known.rules;
    const isTimed = usesNow(rules);
    const names = setsOf(rules);
    return then(this.#sets.read(principal.subject, names), (sets) => {
      if (known?.sets === sets && !isTimed) return known.rules;
      return then(this.#compile(principal, name, rules, sets), (compiled) => {
        const byPrincipal = this.#compiled.get(rules) ?? new WeakMap<Principal, Compiled>();
        this.#compiled.set(rules, byPrincipal);
        const isLasting = names.length === 0 && !isTimed;
        byPrincipal.set(principal, { rules: compiled, sets, isLasting });
        return compiled;
      });
    });
  }

  #compile(
    principal: Principal,
    name: string,
    rules: Rules,
    sets: CallerSets = noSets,
  ): MaybePromise<CallerRules> {
    const definition = definitionOf(rules);
    const isRuled = hasRules(definition);
    const isTimed = usesNow(rules) || sets.isTimed;
    const related = this.related();
    const builder = new ViewBuilder(principal, name, rules, this.#values(principal, sets), related);
    const built = evaluated(
      () => builder.views(isTimed),
      () => related.loading,
    );
    return then(built, (views) => ({
      views,
      seen: isRuled ? seenByGrants(views) : seenByShorthands(principal, definition),
      writesWhole: !isRuled,
      fixedFields: fixedFields(definition),
      sets,
      newFacts: isRuled ? () => new RuleFacts(this.#store) : undefined,
    }));
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
    return new Lookup((name) =>
      then(
        this.#store.rules(name),
        (rules) => new CollectionAccess(system, name, rules, everything),
      ),
    );
  }
}

/** For one who reads nothing in the collection, the resources that it may change are there, and no others. */
const seenByGrants = (views: Views): Views => {
  const { read } = views;
  return read === undefined ? views : { read, create: read, update: read, delete: read };
};

/** What a caller does not own is missing where it may read or change only its own, whatever its scopes are. */
function seenByShorthands({ subject = "" }: Principal, { access }: Definition): Views {
  const own = new View([{ ...wholeGrant, where: ownedBy(subject) }], { owner: subject });
  const seen = (verb: Verb): View =>
    access.read === "owner" || access[verb] === "owner" ? own : wholeView;
  return Object.fromEntries(verbs.map((verb) => [verb, seen(verb)]));
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

  views(isTimed: boolean): Views {
    const definition = definitionOf(this.#rules);
    const boundary = this.#predicate(definition.boundary);
    if (boundary === "never") return {};
    const views: Partial<Record<Verb, View>> = {};
    for (const verb of verbs) {
      const grants = grantsOf(definition, verb).flatMap((grant, index) =>
        this.#grant(verb, grant, index, boundary),
      );
      const isOwn = definition.access[verb] === "owner" && !hasRules(definition);
      const owner = isOwn ? (this.#principal.subject ?? "") : undefined;
      if (grants.length > 0) views[verb] = new View(grants, { owner, isTimed });
    }
    return views;
  }

  /** Returns nothing for a grant that does not apply to the caller. */
  #grant(
    verb: Verb,
    grant: Grant,
    index: number,
    boundary: Predicate | undefined,
  ): readonly AppliedGrant[] {
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

  #set(given: Grant["set"]): AppliedGrant["set"] | "never" {
    if (given === undefined) return undefined;
    const entries = Object.entries(given).map(
      ([field, operand]) => [field, settableValue(operand, this.#values)] as const,
    );
    return entries.some(([, value]) => value === absent) ? "never" : Object.fromEntries(entries);
  }
}

/** A name of a list stands for its values. */
function settableValue(operand: unknown, values: CallerValues): unknown {
  const value = callerValue(operand, values);
  return typeof operand === "string" && isList(value) ? value.list : value;
}

function allOf(parts: readonly (Predicate | undefined)[]): Predicate | undefined {
  const given = parts.filter((part) => part !== undefined);
  return given.length < 2 ? given[0] : { allOf: given };
}
