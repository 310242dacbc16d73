// Finds the fields that a query names: those of its collection, and those of collections that it refers to.

import type { Lookup } from "../lib/maybe-promise.ts";
import type { Rules } from "../model/collection.ts";
import { listRequestLimits } from "../model/query/list-request.ts";
import { explainFieldName } from "../model/query/misspelled-field.ts";
import { type Condition, holds, type Predicate } from "../model/query/predicate.ts";
import type { Through } from "../model/query/query.ts";
import {
  type QueryableField,
  type QueryableFields,
  queryableFieldsOf,
} from "../model/query/queryable.ts";
import type { ValueKind } from "../model/query/sort-key.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { type View, wholeView } from "./view.ts";

/** The collections that a caller's query names, opened for the caller. */
export type RelatedCollections = Lookup<CollectionAccess>;

/** What a collection has, and what the caller is shown of it. */
interface Seen {
  readonly queryable: QueryableFields;
  readonly view: View;
}

/** A reference on the way to a field. */
interface PathStep extends Seen {
  readonly reference: string;
  readonly kind: ValueKind;
  readonly collection: string;
  /** The resources that the caller may see. */
  readonly visible: readonly Predicate[];
}

/** A field, as it is called in its own collection. */
export interface FoundField extends QueryableField, Seen {
  readonly field: string;
  /** The references that lead there; empty for a field of the collection itself. */
  readonly steps: readonly PathStep[];
}

/**
 * Finds a field. Returns an error message when there is none, or when the caller may not read it; `explain`
 * says that there is none in a collection.
 */
export function findField(
  queryable: QueryableFields,
  field: string,
  related: RelatedCollections | undefined,
  ownView: View = wholeView,
  explain: typeof explainUnknown = explainUnknown,
): FoundField | string {
  const steps: PathStep[] = [];
  let view = ownView;
  let fields = queryable;
  let rest = field;
  for (;;) {
    const reference = fields.referenceBefore(rest);
    const shape = reference && fields.find(reference.field);
    if (reference === undefined || shape === undefined) break;
    if (related === undefined) return notWithSince;
    if (steps.length === listRequestLimits.maxExpandDepth) return tooDeep;
    const access = related.find(reference.collection);
    if (access === undefined) return "its collection is not read yet";
    const rules = readableRules(access);
    if (rules === undefined)
      return `you may not read what "${reference.field}" refers to, so you cannot ask for its fields`;
    const seen = { queryable: fields, view };
    view = access.view("read");
    steps.push({
      reference: reference.field,
      kind: shape.kind,
      collection: reference.collection,
      visible: view.predicate === undefined ? [] : [view.predicate],
      ...seen,
    });
    fields = queryableFieldsOf(rules.definition);
    rest = rest.slice(reference.field.length + 1);
  }
  const found = fields.find(rest);
  if (found !== undefined) {
    const shape = view.namesIn(rest) ? found : undeclared;
    return { ...shape, field: rest, steps, queryable: fields, view };
  }
  return placed(steps.at(-1), explain({ queryable: fields, view }, rest));
}

/** A field that the caller is never shown is missing everywhere, and its type is not told. */
const undeclared: QueryableField = { kind: "any", holds: "value" };

/** Says that the words are about the collection that the last step leads to. */
const placed = (last: PathStep | undefined, words: string): string =>
  last === undefined ? words : `${last.collection}, which "${last.reference}" refers to: ${words}`;

/** Names the fields that the caller is shown. */
export const explainUnknown = ({ queryable, view }: Seen, field: string): string =>
  queryable.explainUnknown(field, (each) => view.names(each));

/** Says what to write instead of a name with brackets, unless there is a field of that name. */
export const misspelledIn = (queryable: QueryableFields, field: string): string | undefined =>
  queryable.declares(field) ? undefined : explainFieldName(field);

/** Names the fields that the caller is shown in every resource. */
export const explainNotAlways = ({ queryable, view }: Seen, field: string): string =>
  queryable.explainUnknown(field, (each) => view.showsAlways(each));

/**
 * Returns the error for a field that the caller is not shown in every resource: the same as for one that is
 * not there, where the way to it is hidden first.
 */
export function notAlwaysShown(found: FoundField): string | undefined {
  const { steps, field } = found;
  const hidden = steps.findIndex(({ view, reference }) => !view.showsAlways(reference));
  const at = hidden < 0 ? steps.length : hidden;
  const seen = steps[at] ?? found;
  if (seen === found && found.view.showsAlways(field)) return undefined;
  const rest = [...steps.slice(at).map(({ reference }) => reference), field].join(".");
  return placed(steps[at - 1], explainNotAlways(seen, rest));
}

const notWithSince =
  "changes cannot be filtered by what a resource refers to, because they come at other times; leave the condition or since out";

const tooDeep = `a field can be at most ${listRequestLimits.maxExpandDepth} references away`;

/**
 * Returns the predicate that a condition on a field is for the resources of the collection. Where the
 * caller is not shown the field, or nothing is referred to as far as it can see, the field is missing.
 * `prefix` is the path of the element that contains the field.
 */
export function asSeen(
  { steps, view, field }: FoundField,
  condition: Condition,
  prefix = "",
): Predicate {
  // What contains the element decides whether it is shown.
  const isElement = prefix !== "";
  const shown = isElement && steps.length === 0 ? undefined : view.shows(field);
  if (steps.length === 0 && shown === undefined) return condition;
  const follow = (predicate: Predicate): Predicate =>
    steps.reduceRight<Predicate>(
      (inner, { visible, view, queryable: _, ...step }, index) =>
        whereShown(index === 0 && isElement ? undefined : view.shows(step.reference), {
          ...step,
          field: index === 0 ? relativeTo(prefix, step.reference) : step.reference,
          related: { allOf: [...visible, inner] },
        }),
      whereShown(shown, predicate),
    );
  const holdsForMissing = holds(condition, { at: () => undefined });
  return holdsForMissing ? { not: follow({ not: condition }) } : follow(condition);
}

/** Returns what holds where the predicate does and the caller is shown what it is about. */
export const whereShown = (shown: Predicate | undefined, predicate: Predicate): Predicate =>
  shown === undefined ? predicate : { allOf: [predicate, shown] };

/** The path of a reference from the element. It is empty when the element itself is the reference. */
const relativeTo = (prefix: string, reference: string): string => reference.slice(prefix.length);

/** Returns how a sort order gets to a field; undefined for a field of the collection itself. */
export const sortThrough = ({ steps, field, kind }: FoundField): Through | undefined =>
  steps.reduceRight<Through | undefined>(
    (through, { reference, collection, visible }) => ({
      reference,
      collection,
      visible,
      field,
      kind,
      ...(through && { through }),
    }),
    undefined,
  );

/** Returns the rules of a collection that exists and that the caller may read. */
export const readableRules = (access: CollectionAccess): Rules | undefined =>
  access.require("read") === undefined ? access.rules : undefined;
