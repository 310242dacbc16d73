// The sets of a caller ($my.{set}): the values that the resources of a collection have for its subject.

import { Lookup, type MaybePromise, then } from "../lib/maybe-promise.ts";
import { RecentMap } from "../lib/recent-map.ts";
import {
  type CallerValues,
  type RuleCondition,
  type SetValue,
  textsIn,
} from "../model/access/caller-values.ts";
import { namedFields } from "../model/access/rule-fields.ts";
import type { Collection } from "../model/collection.ts";
import { valueIn } from "../model/query/field-path.ts";
import { type QueryableFields, queryableFieldsOf } from "../model/query/queryable.ts";
import { simplified } from "../model/query/simplify.ts";
import type { Resource } from "../model/resource.ts";
import { accessDocumentOf, accessName, accessVersionOf } from "../model/schemas/access.ts";
import type { ReadState, Store } from "../store/store.ts";
import { buildRule } from "./build-where.ts";
import type { RelatedCollections } from "./related-fields.ts";

/** A set as the access document defines it. */
export interface SetDefinition {
  readonly collection: string;
  readonly where: RuleCondition;
  readonly field: string;
}

/** The sets by name. Each definition is the same object while the document does not change. */
export type SetDefinitions = Readonly<Record<string, SetDefinition>>;

/** A larger set counts as empty. */
export const setLimits = { maxValues: 10_000 } as const;
/** How many sets of callers are kept. */
const maxKept = 100_000;

/** The sets of a caller: the same object while their values stay the same. */
export interface CallerSets {
  /** Undefined for a set that is not defined, or that cannot be read as it is defined. */
  values(name: string): readonly SetValue[] | undefined;
  /** The access document, and the collections of the sets at the revisions at which these values were found last. */
  readonly reads: readonly ReadState[];
  /** Whether they can change without a commit. */
  readonly isTimed: boolean;
}

interface KnownSet {
  readonly definition: SetDefinition;
  readonly values: readonly SetValue[] | undefined;
  /** The state that was read last and gave these values. */
  collection: Collection | undefined;
}

/** Values, and the state of the collection that they were read from. */
interface FoundValues {
  readonly values: readonly SetValue[] | undefined;
  readonly state?: Collection | undefined;
}

const nothing: FoundValues = { values: [] };
const unreadable: FoundValues = { values: undefined };

interface KnownSets {
  /** That of the access document. */
  readonly version: number;
  readonly known: readonly KnownSet[];
  readonly sets: CallerSets;
}

/** Is asked for nothing, because a set names fields of its own collection only. */
export const noOthers: RelatedCollections = new Lookup((name) => {
  throw new Error(`a set must not read ${name}`);
});

/** Those of a caller without a subject. */
export const noSets: CallerSets = { values: () => undefined, reads: [], isTimed: false };

export interface SetsOptions {
  readonly store: Store;
  readonly clock: () => number;
  /** Logs a set that counts as empty. */
  readonly warn: (message: string) => void;
}

export class Sets {
  readonly #options: SetsOptions;
  readonly #known = new RecentMap<string, KnownSet>(maxKept);
  readonly #together = new RecentMap<string, KnownSets>(maxKept);

  constructor(options: SetsOptions) {
    this.#options = options;
  }

  /** Reads sets of a subject as they are now. A caller without a subject has none. */
  read(subject: string | undefined, names: readonly string[]): MaybePromise<CallerSets> {
    if (subject === undefined || names.length === 0) return noSets;
    return then(this.#options.store.rules(accessName), (document) => {
      const { sets } = accessDocumentOf(document);
      const version = accessVersionOf(document);
      const reads = names.map((name) => this.#one(subject, name, sets[name]));
      return reads.some((read) => read instanceof Promise)
        ? Promise.all(reads).then((known) => this.#join(subject, names, known, version))
        : this.#join(subject, names, reads as readonly (KnownSet | undefined)[], version);
    });
  }

  #join(
    subject: string,
    names: readonly string[],
    found: readonly (KnownSet | undefined)[],
    version: number,
  ): CallerSets {
    const known = found.filter((set) => set !== undefined);
    const key = `${subject}\0${names.join()}`;
    const earlier = this.#together.get(key);
    const isSame =
      earlier?.version === version &&
      earlier.known.length === known.length &&
      earlier.known.every((set, index) => set === known[index]);
    if (isSame) return earlier.sets;
    const byName = new Map(names.map((name, index) => [name, found[index]?.values]));
    const sets: CallerSets = {
      values: (name) => byName.get(name),
      get reads() {
        const read = known.map(({ definition, collection }) => ({
          collection: definition.collection,
          revision: collection?.revision ?? -1,
        }));
        return [{ collection: accessName, version }, ...read];
      },
      isTimed: known.some(({ definition }) => isByTime(definition)),
    };
    this.#together.set(key, { version, known, sets });
    return sets;
  }

  /** Returns undefined for a set that is not defined. */
  #one(
    subject: string,
    name: string,
    definition: SetDefinition | undefined,
  ): MaybePromise<KnownSet | undefined> {
    if (definition === undefined) return undefined;
    const key = `${subject}\0${name}`;
    return then(this.#options.store.collection(definition.collection), (collection) => {
      const known = this.#known.get(key);
      const isSame = known?.definition === definition;
      if (isSame && known.collection === collection && !isByTime(definition)) return known;
      const found = collection ? this.#find(subject, name, definition, collection) : nothing;
      return then(found, ({ values, state = collection }) => {
        // The same object is recognised next time.
        const current = state?.revision === collection?.revision ? collection : state;
        if (isSame && areEqual(known.values, values)) {
          known.collection = current;
          return known;
        }
        const read: KnownSet = { definition, values, collection: current };
        this.#known.set(key, read);
        return read;
      });
    });
  }

  #find(
    subject: string,
    name: string,
    definition: SetDefinition,
    collection: Collection,
  ): MaybePromise<FoundValues> {
    const { store, clock, warn } = this.#options;
    const values: CallerValues = { me: subject, roles: [], now: clock(), set: () => undefined };
    const queryable = queryableFieldsOf(collection.definition);
    const elsewhere = elsewhereIn(definition, queryable);
    const { predicates, isAbsent, errors } = buildRule(
      queryable,
      elsewhere === undefined ? definition.where : {},
      values,
      noOthers,
    );
    const error = elsewhere ?? errors[0]?.detail;
    if (error !== undefined) warn(`The set ${name} cannot be read: ${error}`);
    if (isAbsent || error !== undefined) return unreadable;
    const query = {
      conditions: simplified(predicates),
      words: [],
      sortings: [],
      isNewestFirst: false,
      start: 0,
      isCounted: false,
      limit: setLimits.maxValues + 1,
    };
    return then(store.query(collection.name, query), (answer) => {
      const values = valuesIn(answer?.resources ?? [], definition.field);
      const state = answer?.collection;
      if (values.length <= setLimits.maxValues) return { values, state };
      warn(
        `The set ${name} of a caller has more than ${setLimits.maxValues} values, and counts as empty.`,
      );
      return { values: [], state };
    });
  }
}

/** The different values of a field, in an order of their own. */
function valuesIn(resources: readonly Resource[], field: string): readonly SetValue[] {
  const values = resources
    .flatMap((resource) =>
      field === "id" ? [resource.id] : [valueIn(JSON.parse(resource.fields), field)].flat(2),
    )
    .filter(isSetValue);
  return [...new Set(values)].sort();
}

const isSetValue = (value: unknown): value is SetValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

const areEqual = (one: KnownSet["values"], other: KnownSet["values"]): boolean =>
  one === other ||
  (one?.length === other?.length && one?.every((value, at) => value === other?.[at]) === true);

/** Returns what is wrong with a set that names a field of another collection: it would not notice its changes. */
export function elsewhereIn(
  { where, field }: SetDefinition,
  queryable: QueryableFields,
): string | undefined {
  const named = [...namedFields(where), field];
  const elsewhere = named.find((path) => queryable.referenceBefore(path) !== undefined);
  return elsewhere && `${elsewhere} is in another collection; a set is read from one collection`;
}

const timed = new WeakMap<SetDefinition, boolean>();

/** Whether the values can change without a commit. */
function isByTime(definition: SetDefinition): boolean {
  const cached = timed.get(definition);
  if (cached !== undefined) return cached;
  const found = textsIn(definition.where).includes("$now");
  timed.set(definition, found);
  return found;
}
