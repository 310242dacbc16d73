// Finds the fields that a query names: those of its collection, and those of collections that it refers to.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Rules } from "../model/collection.ts";
import { listRequestLimits } from "../model/query/list-request.ts";
import { type Condition, holds, type Predicate } from "../model/query/predicate.ts";
import type { Through } from "../model/query/query.ts";
import {
  type QueryableField,
  type QueryableFields,
  queryableFieldsOf,
} from "../model/query/queryable.ts";
import type { ValueKind } from "../model/query/sort-key.ts";
import { type CollectionAccess, readableRules } from "./collection-access.ts";

/** Opens a collection for the caller of a query. */
export type OpenCollection = (name: string) => MaybePromise<CollectionAccess>;

/** The collections that a caller's query names. */
export class RelatedCollections {
  readonly #open: OpenCollection;
  readonly #found = new Map<string, CollectionAccess>();
  readonly #loading: Promise<void>[] = [];

  constructor(open: OpenCollection) {
    this.#open = open;
  }

  /** Returns undefined while it is read: then `loading` is set, and the query must be built again. */
  find(name: string): CollectionAccess | undefined {
    const known = this.#found.get(name);
    if (known !== undefined) return known;
    const access = this.#open(name);
    if (access instanceof Promise) {
      this.#loading.push(access.then((loaded) => void this.#found.set(name, loaded)));
      return undefined;
    }
    this.#found.set(name, access);
    return access;
  }

  /** What must be awaited. */
  get loading(): Promise<unknown> | undefined {
    return this.#loading.length === 0 ? undefined : Promise.all(this.#loading.splice(0));
  }

  get rules(): readonly Rules[] {
    return [...this.#found.values()].flatMap(({ rules }) => rules ?? []);
  }
}

/** A reference on the way to a field. */
interface Step {
  readonly reference: string;
  readonly kind: ValueKind;
  readonly collection: string;
  /** The resources that the caller may see. */
  readonly visible: readonly Predicate[];
}

/** A field, as it is called in its own collection. */
export interface FoundField extends QueryableField {
  readonly field: string;
  /** The references that lead there; empty for a field of the collection itself. */
  readonly steps: readonly Step[];
}

/** Finds a field. Returns an error message when there is none, or when the caller may not read it. */
export function findField(
  queryable: QueryableFields,
  field: string,
  related: RelatedCollections | undefined,
): FoundField | string {
  const steps: Step[] = [];
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
    const { predicate } = access.view("read");
    steps.push({
      ...{ reference: reference.field, kind: shape.kind, collection: reference.collection },
      visible: predicate === undefined ? [] : [predicate],
    });
    fields = queryableFieldsOf(rules.definition);
    rest = rest.slice(reference.field.length + 1);
  }
  const found = fields.find(rest);
  if (found !== undefined) return { ...found, field: rest, steps };
  const last = steps.at(-1);
  return last === undefined
    ? fields.explainUnknown(rest)
    : `${last.collection}, which "${last.reference}" refers to: ${fields.explainUnknown(rest)}`;
}

const notWithSince =
  "changes cannot be filtered by what a resource refers to, because they come at other times; leave the condition or since out";

const tooDeep = `a field can be at most ${listRequestLimits.maxExpandDepth} references away`;

/**
 * Returns the predicate that a condition on a field is for the resources that refer to it. Where nothing
 * is referred to the field is missing, as far as the caller can see. `prefix` is the path of the element
 * that contains the reference.
 */
export function throughReferences(
  { steps }: FoundField,
  condition: Condition,
  prefix = "",
): Predicate {
  if (steps.length === 0) return condition;
  const holdsForMissing = holds(condition, { at: () => undefined });
  const follow = (predicate: Predicate): Predicate =>
    steps.reduceRight<Predicate>(
      (inner, { visible, ...step }, index) => ({
        ...step,
        field: index === 0 ? relativeTo(prefix, step.reference) : step.reference,
        related: { allOf: [...visible, inner] },
      }),
      predicate,
    );
  return holdsForMissing ? { not: follow({ not: condition }) } : follow(condition);
}

/** The path of a reference from the element. It is empty when the element itself is the reference. */
const relativeTo = (prefix: string, reference: string): string => reference.slice(prefix.length);

/** Returns how a sort order gets to a field; undefined for a field of the collection itself. */
export const sortThrough = ({ steps, field, kind }: FoundField): Through | undefined =>
  steps.reduceRight<Through | undefined>(
    (through, { reference, collection, visible }) => ({
      ...{ reference, collection, visible, field, kind },
      ...(through && { through }),
    }),
    undefined,
  );
