// A planned list, and its result: what was read from the store, as the client asked for it.

import type { Collection, Rules } from "../model/collection.ts";
import { type ListRequest, pageCount } from "../model/query/list-request.ts";
import { isRanked, type Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { QueryResult, ScanReport, Slice } from "../store/store.ts";
import type { CollectionAccess } from "./collection-access.ts";
import { cursorAt } from "./list-cursor.ts";
import { groupsOf, type ListedGroups } from "./listed-groups.ts";
import type { Mask } from "./mask.ts";

/** A collection as one caller may see it. */
export interface ListTarget {
  readonly access: CollectionAccess;
  readonly collection: Collection;
  /** The rules of the same version as `collection`. */
  readonly rules: Rules;
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

export type Unmasked = Omit<ListResult, "maskOf">;

/** Returns the same target with the state of the collection that was read. */
const withCollection = (target: ListTarget, collection: Collection): ListTarget =>
  collection === target.collection ? target : { ...target, collection };

export function sliceResult(
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

export const withOneMore = (query: Query): Query =>
  readsOneMore(query) ? { ...query, limit: query.limit + 1 } : query;

/** Whether resources of the page were left out, and not only the next one. */
export const isShortened = ({ isCut, resources }: QueryResult, { limit }: Query): boolean =>
  isCut === true && resources.length < limit;

export function queryResult(
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
      found.isCut === true ||
      last !== undefined ||
      resources.length > query.limit ||
      listRequest.page < pageCount(total ?? totalAtLeast ?? 0, listRequest.limit),
    next,
  };
}
