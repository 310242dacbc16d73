// Answers list requests: checks them against the definition and reads from the store.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Collection, Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import {
  isPlain,
  type ListRequest,
  listOffset,
  maxBytesOf,
  pageCount,
} from "../model/query/list-request.ts";
import { isRanked, type Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { QueryResult, ReadOptions, ScanReport, Slice, Store } from "../store/store.ts";
import type { Access } from "./access.ts";
import { buildQuery, pageTooLargeProblem, tooManyGroups } from "./build-query.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { cursorAt } from "./list-cursor.ts";
import { groupsOf, type ListedGroups } from "./listed-groups.ts";
import type { Mask } from "./mask.ts";
import { collectionNotFound } from "./problems.ts";
import { RelatedCollections } from "./related-fields.ts";

export type { ReadOptions };

/** A collection as one caller may see it. */
export interface ListTarget {
  readonly access: CollectionAccess;
  readonly collection: Collection;
  /** The rules of the same version as `collection`. */
  readonly rules: Rules;
  /** The only owner whose resources the caller may see; undefined for all. */
  readonly owner: string | undefined;
}

/** A list request that is valid for its collection. */
export interface PlannedList {
  readonly target: ListTarget;
  readonly listRequest: ListRequest;
  /** Undefined for a plain page in the order of creation. */
  readonly query: Query | undefined;
  /** The access to other collections that the result depends on. */
  readonly others: readonly CollectionAccess[];
}

export interface ListResult {
  readonly target: ListTarget;
  readonly listRequest: ListRequest;
  /** The access to other collections that the result depends on. */
  readonly others: readonly CollectionAccess[];
  readonly resources: readonly Resource[];
  /** How the caller sees each of them. */
  readonly maskOf: (resource: Resource) => Mask;
  /** Undefined when the client did not ask for it, or when counting would take too long. */
  readonly total: number | undefined;
  /** A lower limit of the total, when counting would take too long. */
  readonly totalAtLeast?: number | undefined;
  /** Set when resources were checked one by one. */
  readonly scan?: ScanReport | undefined;
  readonly hasMore: boolean;
  /** The cursor of the next page, if there is one. */
  readonly next: string | undefined;
  /** Figures of groups, instead of resources: JSON objects. */
  readonly groups?: ListedGroups;
}

type Unmasked = Omit<ListResult, "maskOf">;

export class Lists {
  readonly #store: Store;
  readonly #access: Access;
  readonly #maxResourceBytes: number;

  /** `maxResourceBytes` is the limit of one resource. */
  constructor(store: Store, access: Access, maxResourceBytes: number) {
    this.#store = store;
    this.#access = access;
    this.#maxResourceBytes = maxResourceBytes;
  }

  target(access: CollectionAccess): MaybePromise<ListTarget | Problem> {
    const forbidden = access.require("read");
    if (forbidden !== undefined) return forbidden;
    return then(this.#store.collection(access.name), (collection) =>
      collection === undefined
        ? collectionNotFound(access.name)
        : this.#targetOf(access, collection),
    );
  }

  #targetOf(opened: CollectionAccess, collection: Collection): MaybePromise<ListTarget | Problem> {
    const rules = rulesOf(collection, opened.rules);
    if (rules === opened.rules) return targetOf(opened, collection, rules);
    const { principal, name } = opened;
    return then(
      this.#access.byRules(principal, name, rules),
      (access) => access.require("read") ?? targetOf(access, collection, rules),
    );
  }

  /** Whether the caller sees the same resources as in an earlier target, and nothing has changed since. */
  isCurrentFor(access: CollectionAccess, earlier: ListTarget): boolean {
    const target = this.target(access);
    return (
      "collection" in target &&
      target.collection === earlier.collection &&
      target.rules === earlier.rules &&
      target.owner === earlier.owner &&
      target.access.bound === earlier.access.bound
    );
  }

  /** Checks a list request against the definition; a problem lists every error. */
  plan(target: ListTarget, listRequest: ListRequest): MaybePromise<PlannedList | Problem> {
    const forbidden = target.access.require("read");
    if (forbidden !== undefined) return forbidden;
    const { conditions } = target.access.view("read");
    const isPlainPage = isPlain(listRequest) && conditions.length === 0;
    if (isPlainPage && listRequest.fields.length === 0 && listRequest.errors.length === 0) {
      return { target, listRequest: listRequest, query: undefined, others: [] };
    }
    const related = new RelatedCollections((name) =>
      this.#access.collection(target.access.principal, name),
    );
    return then(build(target, listRequest, related), (query) => {
      if (query instanceof Problem) return query;
      const { found: others } = related;
      return { target, listRequest, query: isPlainPage ? undefined : query, others };
    });
  }

  /**
   * A page that is too large is shortened when it is read by cursor, and rejected when it has a number.
   * Without options, a plain page is read as a short one, without a deadline.
   */
  read(
    planned: PlannedList,
    options?: ReadOptions,
    maxBytes: number | undefined = maxBytesOf(planned.listRequest.limit, this.#maxResourceBytes),
  ): MaybePromise<ListResult | Problem> {
    const { target, listRequest, query } = planned;
    const forbidden = target.access.require("read");
    if (forbidden !== undefined) return forbidden;
    const { name } = target.collection;
    if (query === undefined) {
      const range = { ...rangeOf(listRequest), maxBytes };
      return then(this.#store.slice(name, range, options), (slice) => {
        if (slice === undefined) return collectionNotFound(name);
        const readAgain = this.#readAgain(planned, slice.collection, options);
        if (readAgain !== undefined) return readAgain;
        return slice.fits === undefined
          ? withMasks(sliceResult(planned, slice))
          : pageTooLargeProblem(listRequest, slice.fits);
      });
    }
    const asked = { ...withOneMore(query), maxBytes };
    return then(this.#store.query(name, asked, options), (answer) => {
      if (answer === undefined) return collectionNotFound(name);
      const readAgain = this.#readAgain(planned, answer.collection, options);
      if (readAgain !== undefined) return readAgain;
      const tooMany = answer.groups && tooManyGroups(listRequest, answer.groups);
      if (tooMany !== undefined) return tooMany;
      return answer.isCut && (listRequest.cursor === undefined || answer.last === undefined)
        ? pageTooLargeProblem(listRequest, answer.resources.length)
        : withMasks(queryResult(planned, query, answer));
    });
  }

  /** Plans and reads again when the definition has changed in between. */
  #readAgain(
    { target, listRequest }: PlannedList,
    collection: Collection,
    options: ReadOptions | undefined,
  ): MaybePromise<ListResult | Problem> | undefined {
    if (collection.definition === target.collection.definition) return undefined;
    return then(this.#targetOf(target.access, collection), (current) =>
      current instanceof Problem
        ? current
        : then(this.plan(current, listRequest), (planned) =>
            planned instanceof Problem ? planned : this.read(planned, options),
          ),
    );
  }
}

/** Builds the query, again after other collections were read. */
function build(
  target: ListTarget,
  listRequest: ListRequest,
  related: RelatedCollections,
): MaybePromise<Query | Problem> {
  const { access } = target;
  const { isAdmin, seal } = access;
  const caller = { view: access.view("read"), isAdmin, seal, related };
  const query = buildQuery(target.collection, listRequest, caller);
  const { loading } = related;
  return loading === undefined ? query : loading.then(() => build(target, listRequest, related));
}

/** Returns the result without its resources when it is known before reading them. */
export const predictResult = (planned: PlannedList): Unmasked | undefined =>
  planned.query === undefined
    ? sliceResult(planned, { collection: planned.target.collection, resources: [] })
    : undefined;

/** Cached rules may be older than the collection; then its own definition counts. */
export const rulesOf = (collection: Collection, rules: Rules | undefined): Rules =>
  rules?.definition === collection.definition
    ? rules
    : { version: 0, definition: collection.definition };

const targetOf = (access: CollectionAccess, collection: Collection, rules: Rules): ListTarget => ({
  ...{ access, collection, rules },
  owner: access.visibleOwner("read"),
});

/** Returns the same target with the state of the collection that was read. */
const withCollection = (target: ListTarget, collection: Collection): ListTarget =>
  collection === target.collection ? target : { ...target, collection };

/** Finds how the caller sees the resources. */
const withMasks = (listed: Unmasked): MaybePromise<ListResult> =>
  then(listed.target.access.masksOf(listed.resources), (maskOf) => ({ ...listed, maskOf }));

/** Whether the caller sees all resources with all fields. */
export const isWhole = ({ access }: ListTarget): boolean => access.view("read").isWhole;

/** Whether what the caller sees depends on nothing but the collection. */
export const isByCollection = (access: CollectionAccess): boolean =>
  access.bound?.isTimed !== true && !access.view("read").isRelated;

const rangeOf = (listRequest: ListRequest) =>
  ({
    offset: listOffset(listRequest),
    limit: listRequest.limit,
    order: listRequest.sort[0]?.isDescending ? "-created" : "created",
  }) as const;

function sliceResult(
  { target, listRequest, others }: PlannedList,
  { collection, resources }: Slice,
): Unmasked {
  const { total } = collection;
  return {
    target: withCollection(target, collection),
    listRequest,
    others,
    resources,
    total: listRequest.isCounted ? total : undefined,
    hasMore: listRequest.page < pageCount(total, listRequest.limit),
    next: undefined,
  };
}

/** Where neither a total nor a position shows whether there is more, one more resource is read. */
const readsOneMore = (query: Query): boolean => isRanked(query) && !query.isCounted;

const withOneMore = (query: Query): Query =>
  readsOneMore(query) ? { ...query, limit: query.limit + 1 } : query;

function queryResult(
  { listRequest, others, ...planned }: PlannedList,
  query: Query,
  found: QueryResult,
): Unmasked {
  const target = withCollection(planned.target, found.collection);
  const { resources, totalAtLeast, last, scan, groups } = found;
  const total = groups?.total ?? found.total;
  const next =
    listRequest.cursor &&
    last &&
    cursorAt(target.collection, { query, listRequest, seal: target.access.seal }, last);
  return {
    target,
    listRequest,
    others,
    resources: resources.length > query.limit ? resources.slice(0, query.limit) : resources,
    total,
    totalAtLeast,
    scan,
    ...(query.aggregation && groups && { groups: groupsOf(query.aggregation, groups) }),
    hasMore:
      last !== undefined ||
      resources.length > query.limit ||
      listRequest.page < pageCount(total ?? totalAtLeast ?? 0, listRequest.limit),
    next,
  };
}
