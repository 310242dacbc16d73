// Builds predicates from the nested conditions of a `where`, and checks them against the definition.

import { ErrorReport, type Path } from "../lib/json/error-report.ts";
import {
  absent,
  type CallerValues,
  callerOperand,
  isList,
  ownerName,
  type RuleCondition,
} from "../model/access/caller-values.ts";
import { elementsOf } from "../model/field-kind.ts";
import type { FieldError } from "../model/problem.ts";
import { type Comparison, conditionOf, isOf } from "../model/query/filter.ts";
import { ownerField } from "../model/query/index-plan.ts";
import {
  type ErrorLocation,
  fieldSyntax,
  isFieldPath,
  listRequestLimits,
  type Where,
} from "../model/query/list-request.ts";
import {
  explainConditionName,
  notDeclared,
  unknownOperator,
} from "../model/query/misspelled-field.ts";
import { isOperator, operators } from "../model/query/operators.ts";
import type { Condition, Predicate } from "../model/query/predicate.ts";
import type { QueryableFields } from "../model/query/queryable.ts";
import { explainNoValue } from "./explain-no-value.ts";
import {
  asSeen,
  type FoundField,
  findField,
  type RelatedCollections,
  whereShown,
} from "./related-fields.ts";
import { type View, wholeView } from "./view.ts";

/** Where a condition stands. */
interface Nesting {
  readonly path: Path;
  /** The path of the array's elements that the fields belong to, with a dot at its end. */
  readonly prefix: string;
  /** How many `$or`, `$and`, `$not` and `some` contain it. */
  readonly depth: number;
}

type Predicates = readonly Predicate[];

/** What the conditions of a caller can name. */
export interface Nameable {
  readonly queryable: QueryableFields;
  readonly related?: RelatedCollections | undefined;
  /** What the caller is shown. */
  readonly view: View;
}

/** Returns the predicates that must all hold. `count` is the number of the request's other conditions. */
export function buildWhere(
  queryable: QueryableFields,
  { value, locate }: Where,
  count: number,
  addError: (place: ErrorLocation, detail: string) => void,
  { related, view }: Omit<Nameable, "queryable"> = { view: wholeView },
): Predicates {
  const builder = new WhereBuilder({ queryable, related, view }, count);
  const predicates = builder.build(value);
  for (const { pointer, detail } of builder.report.errors) addError(locate(pointer), detail);
  return predicates;
}

/** Returns an error message for what a rule compares with a field. */
export type CheckOperand = (comparison: Comparison) => string | undefined;

/** Returns the predicates of a rule's condition, in which values of the caller can be named. */
export function buildRule(
  queryable: QueryableFields,
  condition: RuleCondition,
  values: CallerValues,
  related: RelatedCollections,
  checkOperand?: CheckOperand,
): {
  readonly predicates: Predicates;
  readonly isAbsent: boolean;
  readonly errors: readonly FieldError[];
} {
  const named = { queryable, related, view: wholeView };
  const builder = new WhereBuilder(named, 0, values, checkOperand);
  const predicates = builder.build(condition);
  return { predicates, isAbsent: builder.isAbsent, errors: builder.report.errors };
}

class WhereBuilder {
  readonly report = new ErrorReport();
  /** Whether the caller does not have a value that is named. */
  isAbsent = false;
  readonly #queryable: QueryableFields;
  readonly #related: RelatedCollections | undefined;
  readonly #view: View;
  /** Set for the condition of a rule. */
  readonly #values: CallerValues | undefined;
  readonly #checkOperand: CheckOperand | undefined;
  #count: number;

  constructor(
    { queryable, related, view }: Nameable,
    count: number,
    values?: CallerValues,
    checkOperand?: CheckOperand,
  ) {
    this.#queryable = queryable;
    this.#related = related;
    this.#view = view;
    this.#values = values;
    this.#checkOperand = checkOperand;
    this.#count = count;
  }

  build(value: unknown): Predicates {
    return this.#object(value, { path: [], prefix: "", depth: 0 });
  }

  #object(value: unknown, place: Nesting): Predicates {
    if (!isObject(value)) return this.#fail(place.path, "must be an object with fields");
    return Object.entries(value).flatMap(([name, test]) =>
      this.#member(name, test, { ...place, path: [...place.path, name] }),
    );
  }

  #member(name: string, test: unknown, place: Nesting): Predicates {
    switch (name) {
      case "$or":
        return this.#parts(test, place, (anyOf) => [{ anyOf }]);
      case "$and":
        return this.#parts(test, place, (allOf) => allOf);
      case "$not":
        return this.#nested(place, (inner) => [{ not: { allOf: this.#object(test, inner) } }]);
    }
    const isBare = !isObject(test);
    if (this.#values !== undefined && name === ownerName && place.prefix === "")
      return this.#ownerTests(test, place);
    const misspelled = isBare ? this.#misspelled(name, place.prefix) : undefined;
    if (misspelled !== undefined) return this.#fail(place.path, misspelled);
    if (!isFieldPath(name)) return this.#fail(place.path, fieldSyntax);
    if (Array.isArray(test)) return this.#fail(place.path, listError);
    if (isBare) return this.#test(name, "eq", test, place);
    return this.#tests(name, test, place);
  }

  /** Whether it is a rule that was accepted earlier. */
  get #isStored(): boolean {
    return this.#values !== undefined && this.#checkOperand === undefined;
  }

  /** Operators in names are looked for in requests, and in rules when they are defined. */
  #misspelled(name: string, prefix: string): string | undefined {
    const isUnchecked = this.#isStored && !name.startsWith("$");
    if (isUnchecked || this.#queryable.declares(prefix + name)) return undefined;
    return prefix !== "" && isOperator(name) ? notDeclared(name) : explainConditionName(name);
  }

  #parts(parts: unknown, place: Nesting, combine: (parts: Predicates) => Predicates): Predicates {
    const { maxConditions } = listRequestLimits;
    const isList = Array.isArray(parts) && parts.length > 0 && parts.length <= maxConditions;
    if (!isList) return this.#fail(place.path, `must be a list of 1 to ${maxConditions} objects`);
    return this.#nested(place, (inner) =>
      combine(
        parts.map((part, index) => ({
          allOf: this.#object(part, { ...inner, path: [...place.path, index] }),
        })),
      ),
    );
  }

  /** Counts a condition. Only the first one beyond the limit is an error. */
  #isTooMany(path: Path): boolean {
    const { maxConditions } = listRequestLimits;
    this.#count++;
    if (this.#count === maxConditions + 1) this.#fail(path, tooManyConditions);
    return this.#count > maxConditions;
  }

  #nested(place: Nesting, build: (inner: Nesting) => Predicates): Predicates {
    const { maxWhereDepth } = listRequestLimits;
    if (this.#isTooMany(place.path)) return [];
    if (place.depth === maxWhereDepth)
      return this.#fail(place.path, `conditions can be nested up to ${maxWhereDepth} deep`);
    return build({ ...place, depth: place.depth + 1 });
  }

  #tests(field: string, tests: Readonly<Record<string, unknown>>, place: Nesting): Predicates {
    const entries = Object.entries(tests);
    if (entries.length === 0) return this.#fail(place.path, noOperator);
    return entries.flatMap(([operator, operand]) =>
      this.#test(field, operator, operand, { ...place, path: [...place.path, operator] }),
    );
  }

  /** `field` is relative to the element, and empty for the element itself. */
  #test(field: string, operator: string, operand: unknown, place: Nesting): Predicates {
    const { path } = place;
    if (operator !== "some" && this.#isTooMany(path)) return [];
    const full = field === "" ? place.prefix.slice(0, -1) : place.prefix + field;
    const found = findField(this.#queryable, full, this.#related, this.#view);
    if (typeof found === "string") return this.#fail(path, found);
    if (operator === "some") return this.#some(field, full, found, operand, place);
    const noValue = explainNoValue(found, full);
    if (noValue !== undefined && !(this.#isStored && found.holds === "array"))
      return this.#fail(path, noValue);
    if (!isOperator(operator)) return this.#fail(path, unknownOperator(operator));
    const { kind, steps } = found;
    if (this.#values !== undefined && steps.length > 1) return this.#fail(path, tooFar);
    const own = steps.length === 0 ? field : found.field;
    const condition = this.#condition({ field: own, kind, operator, operand, isFromUrl: false });
    if (typeof condition === "string") return this.#fail(path, condition);
    return [asSeen(found, condition, place.prefix)];
  }

  #ownerTests(tests: unknown, place: Nesting): Predicates {
    if (!isObject(tests)) return this.#ownerTest("eq", tests, place.path);
    const entries = Object.entries(tests);
    if (entries.length === 0) return this.#fail(place.path, noOperator);
    return entries.flatMap(([operator, operand]) =>
      this.#ownerTest(operator, operand, [...place.path, operator]),
    );
  }

  #ownerTest(operator: string, operand: unknown, path: Path): Predicates {
    if (this.#isTooMany(path)) return [];
    if (!isOperator(operator)) return this.#fail(path, unknownOperator(operator));
    const compared = { field: ownerField, kind: "text", operator, operand } as const;
    const condition = this.#condition({ ...compared, isFromUrl: false });
    return typeof condition === "string" ? this.#fail(path, condition) : [condition];
  }

  /** Values of the caller that the field cannot have equal nothing. */
  #condition(comparison: Comparison): Condition | string {
    if (this.#values === undefined) return conditionOf(comparison);
    const error = this.#checkOperand?.(comparison);
    if (error !== undefined) return error;
    const { field, kind, operator } = comparison;
    const meant = callerOperand(operator, comparison.operand, this.#values);
    if (meant === absent) {
      this.isAbsent = true;
      return { field, kind, spans: [] };
    }
    if (!isList(meant)) return conditionOf({ ...comparison, operand: meant });
    if (operator !== "in")
      return `${comparison.operand} is a list; use {"in": "${comparison.operand}"}`;
    const values = meant.list.filter((value) => isOf(kind, value));
    if (values.length === 0) return { field, kind, spans: [] };
    return conditionOf({ ...comparison, operand: values, maxValues: values.length });
  }

  /** Of elements that the schema declares as strings, numbers or booleans, `some` takes operators. */
  #some(
    field: string,
    full: string,
    { kind, holds, steps }: FoundField,
    operand: unknown,
    place: Nesting,
  ): Predicates {
    const { path } = place;
    if (steps.length > 0) return this.#fail(path, someElsewhere);
    if (kind !== "any" || holds === "object")
      return this.#fail(path, `${full} is not an array; some is for the elements of an array`);
    if (!isObject(operand))
      return this.#fail(path, "some takes an object with fields of one element");
    const elements = elementsOf(full);
    const prefix = `${elements}.`;
    const isOfValues = (this.#queryable.find(elements)?.kind ?? "any") !== "any";
    return this.#nested({ ...place, prefix }, (inner) => {
      const all = isOfValues ? this.#tests("", operand, inner) : this.#object(operand, inner);
      const shown = place.prefix === "" ? this.#view.shows(full) : undefined;
      return [whereShown(shown, { field, some: { allOf: all } })];
    });
  }

  #fail(path: Path, detail: string): readonly never[] {
    this.report.add(path, detail);
    return [];
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const tooManyConditions = `at most ${listRequestLimits.maxConditions} conditions are allowed`;

const noOperator = `name one of the operators: ${operators.join(", ")}`;

const tooFar = "a rule can name fields that are one reference away, and no further";

const someElsewhere =
  "some is for the arrays of this collection; for those of another, name the fields with [] in the path";

const listError = "must be a value, or an object with operators; for one of several values use in";
