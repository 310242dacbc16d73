// Checks the rules of a definition: the conditions, which get the values of callers later, and the grants.

import { ErrorReport, type Path, pointerTo, reportLimits } from "../lib/json/error-report.ts";
import { evaluated, Lookup, type MaybePromise, then } from "../lib/maybe-promise.ts";
import {
  type CallerValues,
  isListName,
  isValueName,
  type RuleCondition,
  valueError,
} from "../model/access/caller-values.ts";
import { checkGrants, type RuleNames } from "../model/access/check-grants.ts";
import { grantsOf } from "../model/access/grant.ts";
import { ruleFields } from "../model/access/rule-fields.ts";
import { type Definition, definitionLimits } from "../model/definition-schema.ts";
import { system } from "../model/principal.ts";
import type { FieldError } from "../model/problem.ts";
import { type Comparison, isOf } from "../model/query/filter.ts";
import { QueryableFields } from "../model/query/queryable.ts";
import { referencesOf } from "../model/reference.ts";
import { verbs } from "../model/token.ts";
import type { Store } from "../store/store.ts";
import { buildRule } from "./build-where.ts";
import { CollectionAccess } from "./collection-access.ts";
import type { RelatedCollections } from "./related-fields.ts";
import { elsewhereIn, noOthers, type SetDefinitions } from "./sets.ts";
import { everything } from "./view.ts";

/** The rules of collections as they are, or as they will be. */
export type RulesView = Pick<Store, "rules">;

/** Returns all errors in the rules of a definition that is valid otherwise. */
export function checkRules(
  store: RulesView,
  name: string,
  definition: Definition,
  names: RuleNames,
): MaybePromise<readonly FieldError[]> {
  const related: RelatedCollections = new Lookup((collection) =>
    then(collection === name ? undefined : store.rules(collection), (rules) => {
      // A collection that is missing is an error of the reference.
      const other = { version: 0, definition: collection === name ? plainText(definition) : "{}" };
      return new CollectionAccess(system, collection, rules ?? other, everything);
    }),
  );
  return evaluated(
    () => new RuleChecker(definition, names, related).errors,
    () => related.loading,
  );
}

/** Without the rules, because fields that rules name are indexed, which makes them known. */
const plainText = ({ access: _, boundary: __, ...others }: Definition): string =>
  JSON.stringify(others);

/** Returns all errors of the sets in an access document. A collection that does not exist yet is open. */
export async function checkSets(
  store: RulesView,
  sets: SetDefinitions,
): Promise<readonly FieldError[]> {
  const errors: FieldError[] = [];
  for (const [name, definition] of Object.entries(sets)) {
    const { collection, where, field } = definition;
    const rules = await store.rules(collection);
    const queryable = new QueryableFields(rules?.definition ?? "{}");
    const elsewhere = elsewhereIn(definition, queryable);
    if (elsewhere !== undefined) {
      errors.push({ pointer: pointerTo(["sets", name]), detail: elsewhere });
      continue;
    }
    errors.push(...conditionErrors(queryable, where, noSets, noOthers, ["sets", name, "where"]));
    if (queryable.find(field) === undefined)
      errors.push({
        pointer: pointerTo(["sets", name, "field"]),
        detail: queryable.explainUnknown(field),
      });
  }
  return errors.slice(0, reportLimits.maxErrors);
}

/** A set cannot name another. */
const noSets: ReadonlySet<string> = new Set();

class RuleChecker {
  readonly #sets: ReadonlySet<string>;
  readonly #queryable: QueryableFields;
  readonly #related: RelatedCollections;
  readonly errors: FieldError[] = [];

  constructor(definition: Definition, names: RuleNames, related: RelatedCollections) {
    this.#sets = names.sets;
    this.#queryable = new QueryableFields(plainText(definition));
    this.#related = related;
    this.#checkCondition(definition.boundary, ["boundary"]);
    for (const verb of verbs)
      for (const [index, { where, check }] of grantsOf(definition, verb).entries()) {
        this.#checkCondition(where, ["access", verb, index, "where"]);
        this.#checkCondition(check, ["access", verb, index, "check"]);
      }
    const report = new ErrorReport();
    checkGrants(definition, names, report);
    const { maxFields } = definitionLimits;
    if (ruleFields(definition, referencesOf(definition.references)).length > maxFields)
      report.add(
        ["access"],
        `rules can name at most ${maxFields} fields, because they are indexed`,
      );
    this.errors.push(...report.errors);
    this.errors.splice(reportLimits.maxErrors);
  }

  #checkCondition(condition: RuleCondition | undefined, path: Path): void {
    if (condition === undefined) return;
    this.errors.push(
      ...conditionErrors(this.#queryable, condition, this.#sets, this.#related, path),
    );
  }
}

function conditionErrors(
  queryable: QueryableFields,
  condition: RuleCondition,
  sets: ReadonlySet<string>,
  related: RelatedCollections,
  path: Path,
): readonly FieldError[] {
  const { errors } = buildRule(queryable, condition, anyone, related, (comparison) =>
    operandError(comparison, sets),
  );
  const place = pointerTo(path);
  return errors.map(({ pointer, detail }) => ({ pointer: place + pointer, detail }));
}

/** The values do not matter: which of them suit a field is checked before. */
const anyone: CallerValues = { me: "", roles: [], now: 0, set: () => [] };

/** Returns what is wrong with a value of the caller as an operand. */
function operandError(
  { kind, operator, operand }: Comparison,
  sets: ReadonlySet<string>,
): string | undefined {
  if (Array.isArray(operand))
    return operand
      .map((item) => valueError(item, sets) ?? (isListName(item) ? asOperand(item) : undefined))
      .find((error) => error !== undefined);
  const unknown = valueError(operand, sets);
  if (unknown !== undefined || !isValueName(operand)) return unknown;
  if (isListName(operand) !== (operator === "in"))
    return operator === "in" ? "in takes a list; use eq for one value" : asOperand(operand);
  const isText = operand === "$me" || operand === "$me.roles";
  if (isText && kind !== "text" && kind !== "any")
    return `${operand} stands for texts, and this field is a ${kind}`;
  const isTime = operand === "$now" && !isOf(kind, new Date(0).toISOString());
  return isTime ? `$now is a time, and this field is a ${kind}` : undefined;
}

const asOperand = (operand: string): string =>
  `${operand} is a list, and stands alone: {"in": "${operand}"}`;
