// The hooks that read: a list, and one resource.

import { type UseQueryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { Collection, Page } from "../collection.ts";
import type { Problem } from "../problem.ts";
import type { CollectionTypes } from "../types.ts";
import { type Listing, listOptions, type Reading, resourceOptions } from "./options.ts";

/** Those of `useQuery`, such as `enabled`, `staleTime`, `refetchInterval` and `select`. */
export type QueryOptions<Result, Data> = Omit<
  UseQueryOptions<Result, Problem, Data>,
  "queryKey" | "queryFn"
>;

/** A page of a collection. The former page stays until the next one is there. */
export function useList<C extends CollectionTypes, Data = Page<C["resource"]>>(
  collection: Collection<C>,
  query?: Listing<C>,
  options: QueryOptions<Page<C["resource"]>, Data> = {},
): UseQueryResult<Data, Problem> {
  return useQuery({ ...listOptions(collection, query), ...options } as HookOptions<Data>);
}

/** One resource; nothing is read while the id is undefined. */
export function useResource<C extends CollectionTypes, Data = C["resource"]>(
  collection: Collection<C>,
  id: string | undefined,
  options: Reading<C> & QueryOptions<C["resource"], Data> = {},
): UseQueryResult<Data, Problem> {
  const { fields, expand, headers, ...rest } = options;
  const reading = { fields, expand, headers } as Reading<C>;
  return useQuery({
    ...{ ...resourceOptions(collection, id ?? "", reading), ...rest },
    ...(id === undefined && { enabled: false }),
  } as HookOptions<Data>);
}

type HookOptions<Data> = UseQueryOptions<unknown, Problem, Data>;
