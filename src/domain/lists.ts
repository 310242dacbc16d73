// Answers list requests: checks them against the definition and reads from the store.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Collection, Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import type { Aggregation, Groups } from "../model/query/aggregate.ts";
import { writeCursor } from "../model/query/cursor.ts";
import {
  isPlain,
  type ListRequest,
  listOffset,
  maxBytesOf,
  pageCount,
} from "../model/query/list-request.ts";
import { isRanked, type Position, type Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { QueryResult, ReadOptions, ScanReport, Slice, Store } from "../store/store.ts";
import { type Access, CollectionAccess } from "./access.ts";
import { buildQuery, pageTooLargeProblem, queryFingerprint, tooManyGroups } from "./build-query.ts";
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
  /** The rules of other collections that the result depends on. */
  readonly others: readonly Rules[];
}

export interface ListResult {
  readonly target: ListTarget;
  readonly listRequest: ListRequest;
  /** The rules of other collections that the result depends on. */
  readonly others: readonly Rules[];
  readonly resources: readonly Resource[];
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

/** The groups of a page. */
export interface ListedGroups {
  /** The names of the members of each group. */
  readonly names: readonly string[];
  /** The groups as JSON objects. */
  readonly texts: readonly string[];
}

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
      collection === undefined ? collectionNotFound(access.name) : targetOf(access, collection),
    );
  }

  /** Whether the caller sees the same resources as in an earlier target, and nothing has changed since. */
  isCurrentFor(access: CollectionAccess, earlier: ListTarget): boolean {
    const target = this.target(access);
    return (
      "collection" in target &&
      target.collection === earlier.collection &&
      target.rules === earlier.rules &&
      target.owner === earlier.owner
    );
  }

  /** Checks a list request against the definition; a problem lists every error. */
  plan(target: ListTarget, listRequest: ListRequest): MaybePromise<PlannedList | Problem> {
    const forbidden = target.access.require("read");
    if (forbidden !== undefined) return forbidden;
    const isPlainPage = isPlain(listRequest) && target.owner === undefined;
    if (isPlainPage && listRequest.fields.length === 0 && listRequest.errors.length === 0) {
      return { target, listRequest: listRequest, query: undefined, others: [] };
    }
    const related = new RelatedCollections(this.#access, target.access.principal);
    return then(build(target, listRequest, related), (query) => {
      if (query instanceof Problem) return query;
      const { rules: others } = related;
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
          ? sliceResult(planned, slice)
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
        : queryResult(planned, query, answer);
    });
  }

  /** Plans and reads again when the definition has changed in between. */
  #readAgain(
    { target, listRequest }: PlannedList,
    collection: Collection,
    options: ReadOptions | undefined,
  ): MaybePromise<ListResult | Problem> | undefined {
    if (collection.definition === target.collection.definition) return undefined;
    return then(this.plan(withCollection(target, collection), listRequest), (planned) =>
      planned instanceof Problem ? planned : this.read(planned, options),
    );
  }
}

/** Builds the query, again after other collections were read. */
function build(
  target: ListTarget,
  listRequest: ListRequest,
  related: RelatedCollections,
): MaybePromise<Query | Problem> {
  const { owner, access } = target;
  const caller = { owner, isAdmin: access.isAdmin, related };
  const query = buildQuery(target.collection, listRequest, caller);
  const { loading } = related;
  return loading === undefined ? query : loading.then(() => build(target, listRequest, related));
}

/** Returns the result without its resources when it is known before reading them. */
export const predictResult = (planned: PlannedList): ListResult | undefined =>
  planned.query === undefined
    ? sliceResult(planned, { collection: planned.target.collection, resources: [] })
    : undefined;

/** Cached rules may be older than the collection; then its own definition counts. */
export const rulesOf = (collection: Collection, rules: Rules | undefined): Rules =>
  rules?.definition === collection.definition
    ? rules
    : { version: 0, definition: collection.definition };

function targetOf(opened: CollectionAccess, collection: Collection): ListTarget {
  const rules = rulesOf(collection, opened.rules);
  const { principal, name } = opened;
  const access = rules === opened.rules ? opened : new CollectionAccess(principal, name, rules);
  return { access, collection, rules, owner: access.visibleOwner("read") };
}

/** Returns the same target with the state of the collection that was read. */
const withCollection = (target: ListTarget, collection: Collection): ListTarget =>
  collection === target.collection ? target : targetOf(target.access, collection);

const rangeOf = (listRequest: ListRequest) =>
  ({
    offset: listOffset(listRequest),
    limit: listRequest.limit,
    order: listRequest.sort[0]?.isDescending ? "-created" : "created",
  }) as const;

function sliceResult(
  { target, listRequest, others }: PlannedList,
  { collection, resources }: Slice,
): ListResult {
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
): ListResult {
  const target = withCollection(planned.target, found.collection);
  const { resources, totalAtLeast, last, scan, groups } = found;
  const total = groups?.total ?? found.total;
  const next = listRequest.cursor && last && cursorAt(target, query, last);
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

function groupsOf({ groupings, aggregates }: Aggregation, { rows }: Groups): ListedGroups {
  const names = [...groupings, ...aggregates].map(({ name }) => name);
  const members = names.map((name) => `${JSON.stringify(name)}:`);
  const texts = rows.map(
    (row) => `{${row.map((text, index) => `${members[index]}${text}`).join(",")}}`,
  );
  return { names, texts };
}

const cursorAt = ({ collection }: ListTarget, query: Query, position: Position): string =>
  writeCursor(position, queryFingerprint(collection, query));
