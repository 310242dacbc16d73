// Says of each condition of a rule what it wants, what it finds, and whether it holds.

import { evaluated, type MaybePromise } from "../../lib/maybe-promise.ts";
import {
  absent,
  type CallerValues,
  callerValue,
  isList,
  ownerName,
  type RuleCondition,
} from "../../model/access/caller-values.ts";
import { IndexedContent, ownerField } from "../../model/query/index-plan.ts";
import { holds, idsIn } from "../../model/query/predicate.ts";
import type { QueryableFields } from "../../model/query/queryable.ts";
import type { Resource } from "../../model/resource.ts";
import type { ConditionReport } from "../../model/schemas/access-query.ts";
import { timeText } from "../../model/schemas/time.ts";
import type { Store } from "../../store/store.ts";
import { buildRule } from "../build-where.ts";
import { findField, type RelatedCollections } from "../related-fields.ts";
import { RuleFacts } from "../rule-facts.ts";

/** How many values of a set are shown. */
const maxShown = 100;

const combinations: Readonly<Record<string, "or" | "and" | "not">> = {
  $or: "or",
  $and: "and",
  $not: "not",
};

export class ConditionReporter {
  readonly #store: Store;
  readonly #queryable: QueryableFields;
  readonly #values: CallerValues;
  readonly #related: RelatedCollections;
  readonly #facts: RuleFacts;

  constructor(
    store: Store,
    queryable: QueryableFields,
    values: CallerValues,
    related: RelatedCollections,
  ) {
    this.#store = store;
    this.#queryable = queryable;
    this.#values = values;
    this.#related = related;
    this.#facts = new RuleFacts(store);
  }

  /** Evaluates each part of a condition with the code that decides the whole. */
  async report(condition: RuleCondition, resource: Resource): Promise<readonly ConditionReport[]> {
    const reports: ConditionReport[] = [];
    for (const [name, test] of Object.entries(condition)) {
      const combined = combinations[name];
      if (combined !== undefined)
        reports.push(await this.#combined(combined, name, test, resource));
      else
        for (const [operator, operand] of Object.entries(isObject(test) ? test : { eq: test }))
          reports.push(await this.#single(name, operator, operand, resource));
    }
    return reports;
  }

  async #combined(
    combined: "or" | "and" | "not",
    name: string,
    test: unknown,
    resource: Resource,
  ): Promise<ConditionReport> {
    const parts: (readonly ConditionReport[])[] = [];
    for (const part of [test].flat())
      if (isObject(part)) parts.push(await this.report(part, resource));
    return { combined, parts, holds: await this.#holds({ [name]: test }, resource) };
  }

  async #single(
    field: string,
    operator: string,
    operand: unknown,
    resource: Resource,
  ): Promise<ConditionReport> {
    return {
      field,
      ...(operator !== "eq" && { operator }),
      wanted: this.#wanted(operand),
      found: (await this.#found(field, resource)) ?? null,
      holds: await this.#holds({ [field]: { [operator]: operand } }, resource),
    };
  }

  async #holds(condition: RuleCondition, resource: Resource): Promise<boolean> {
    const content = new IndexedContent(resource, this.#facts);
    return this.#evaluated(() => {
      const built = buildRule(this.#queryable, condition, this.#values, this.#related);
      return !built.isAbsent && built.predicates.every((each) => holds(each, content));
    });
  }

  /** Evaluates again after other collections and resources were read. */
  #evaluated<T>(evaluate: () => T): MaybePromise<T> {
    return evaluated(evaluate, () => this.#related.loading ?? this.#facts.loading);
  }

  /** A value that the caller does not have is shown by its name. */
  #wanted(operand: unknown): unknown {
    if (Array.isArray(operand)) return operand.map((item) => this.#wanted(item));
    const value = callerValue(operand, this.#values);
    if (value === absent) return operand;
    return typeof operand === "string" && isList(value) ? value.list.slice(0, maxShown) : value;
  }

  async #found(field: string, resource: Resource): Promise<unknown> {
    const content = new IndexedContent(resource);
    if (field === ownerName) return content.at(ownerField);
    const place = await this.#evaluated(() => findField(this.#queryable, field, this.#related));
    if (typeof place === "string") return undefined;
    const [step] = place.steps;
    if (step === undefined) return shown(field, content);
    const found: unknown[] = [];
    for (const id of idsIn(content.at(step.reference))) {
      const target = await this.#store.find(step.collection, id);
      if (target !== undefined) found.push(shown(place.field, new IndexedContent(target)));
    }
    return found.length < 2 ? found[0] : found;
  }
}

/** The server's times are numbers. */
function shown(field: string, content: IndexedContent): unknown {
  const value = content.at(field);
  const isTime = field === "createdAt" || field === "updatedAt";
  return isTime && typeof value === "number" ? timeText(value) : value;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
