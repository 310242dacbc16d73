// The keys and options of queries, for the hooks and for prefetching, reading and invalidating the cache.

import {
  type DataTag,
  type QueryKey,
  queryOptions,
  type UnusedSkipTokenOptions,
} from "@tanstack/react-query";
import type { Collection, Page, ReadOptions } from "../collection.ts";
import type { Problem } from "../problem.ts";
import type { ListQuery } from "../query.ts";
import { etagOf } from "../tags.ts";
import type { CollectionTypes } from "../types.ts";
import { keepSame } from "./keep-same.ts";

/** TanStack Query has the signal. */
export type Listing<C extends CollectionTypes> = Omit<ListQuery<C["resource"]>, "signal">;
export type Reading<C extends CollectionTypes> = Omit<ReadOptions<C["resource"]>, "signal">;

/** Without a query, it is also the beginning of the keys of all lists of the collection. */
export const listKey = <C extends CollectionTypes>(
  collection: Collection<C>,
  query?: Listing<C>,
): DataKey<Page<C["resource"]>> =>
  keyOf<Page<C["resource"]>>(collection.url, "list", ...(query ? [query] : []));

/** Without more, it is also the beginning of the keys of this resource with other fields or expanded. */
export const resourceKey = <C extends CollectionTypes>(
  collection: Collection<C>,
  id: string,
  reading: Reading<C> = {},
): DataKey<C["resource"]> =>
  keyOf<C["resource"]>(collection.url, "resource", id, ...(isWhole(reading) ? [] : [reading]));

/** With the type of its data, so that `getQueryData` knows it. */
type DataKey<Data> = DataTag<QueryKey, Data, Problem>;
const keyOf = <Data>(...key: QueryKey): DataKey<Data> => key as DataKey<Data>;

/** Written out, because what is derived names parts of TanStack Query that it does not import. */
type KeyedOptions<Data> = UnusedSkipTokenOptions<Data, Problem> & { queryKey: DataKey<Data> };

const isWhole = (reading: object): boolean =>
  Object.values(reading).every((one) => one === undefined);

/** The former page stays until the next one is there. */
export const listOptions = <C extends CollectionTypes>(
  collection: Collection<C>,
  query?: Listing<C>,
): KeyedOptions<Page<C["resource"]>> =>
  queryOptions<Page<C["resource"]>, Problem>({
    queryKey: listKey(collection, query),
    queryFn: ({ signal }) => collection.list({ ...query, signal }),
    placeholderData: (former, query) =>
      query?.queryKey[0] === collection.url ? former : undefined,
    ...shared,
  });

/** A resource that is known already is sent only when it has changed. */
export const resourceOptions = <C extends CollectionTypes>(
  collection: Collection<C>,
  id: string,
  reading: Reading<C> = {},
): KeyedOptions<C["resource"]> =>
  queryOptions<C["resource"], Problem>({
    queryKey: resourceKey(collection, id, reading),
    queryFn: ({ client, queryKey, signal }) => {
      const known = client.getQueryData<C["resource"]>(queryKey);
      return known && etagOf(known) && isWhole(reading)
        ? collection.refresh(known, { signal })
        : collection.get(id, { ...reading, signal });
    },
    ...shared,
  });

/** The client has sent again what got no answer. What was refused would be refused again. */
const shared = {
  retry: (failures: number, { status }: Problem) => status >= 500 && failures < 2,
  structuralSharing: keepSame,
};
