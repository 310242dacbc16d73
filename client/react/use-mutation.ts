// The hook that writes, and keeps the cache right: results and conflicts are put into it, lists are read again.

import {
  type QueryClient,
  type QueryKey,
  type UseMutationOptions,
  type UseMutationResult,
  useQueryClient,
  useMutation as useTanStackMutation,
} from "@tanstack/react-query";
import type { Collection, Target } from "../collection.ts";
import type { UploadOptions } from "../file.ts";
import { Conflict, Problem } from "../problem.ts";
import type { CollectionTypes, Identified, Patch } from "../types.ts";
import { listKey, resourceKey, resourceOptions } from "./options.ts";

/** What `mutate` takes for each kind of change. */
export interface Changes<C extends CollectionTypes> {
  readonly create: C["draft"];
  readonly update: { readonly target: Target<C["resource"]>; readonly patch: Patch<C["draft"]> };
  readonly replace: { readonly target: Target<C["resource"]>; readonly draft: C["draft"] };
  readonly remove: Target<C["resource"]>;
  readonly upload: UploadOptions & {
    readonly target: Target<C["resource"]>;
    /** The name of the file's field, such as `photo`. */
    readonly field: string;
    readonly file: Blob;
  };
}

export interface ChangeResults<C extends CollectionTypes> {
  readonly create: C["resource"];
  readonly update: C["resource"];
  readonly replace: C["resource"];
  /** False when there was nothing to delete. */
  readonly remove: boolean;
  /** The resource with its new file. */
  readonly upload: C["resource"];
}

type Kind = keyof Changes<CollectionTypes>;

/** With a resource as the target, a change of somebody else is a `Conflict`. */
export type ChangeError<C extends CollectionTypes> = Problem | Conflict<C["resource"]>;

/** Those of `useMutation` of TanStack Query, such as `onSuccess`. */
export type ChangeOptions<C extends CollectionTypes, K extends Kind> = Omit<
  UseMutationOptions<ChangeResults<C>[K], ChangeError<C>, Changes<C>[K]>,
  "mutationFn"
>;

/** Changes resources of a collection: `const save = useMutation(products, "update")`. */
export function useMutation<C extends CollectionTypes, K extends Kind>(
  collection: Collection<C>,
  kind: K,
  options: ChangeOptions<C, K> = {},
): UseMutationResult<ChangeResults<C>[K], ChangeError<C>, Changes<C>[K]> {
  const client = useQueryClient();
  return useTanStackMutation({
    // The client sends again by itself, with the key of the first attempt.
    ...{ retry: false, ...options },
    mutationFn: (change: Changes<C>[K]) => runChange(client, collection, kind, change),
  });
}

/** What `useMutation` runs. */
export async function runChange<C extends CollectionTypes, K extends Kind>(
  client: QueryClient,
  collection: Collection<C>,
  kind: K,
  change: Changes<C>[K],
): Promise<ChangeResults<C>[K]> {
  const id = idOf(kind, change);
  try {
    const result = await changesOf(collection)[kind](change);
    if (typeof result === "boolean") await drop(client, collection, id);
    else await put(client, collection, result as C["resource"]);
    return result;
  } catch (error) {
    const current = error instanceof Conflict ? error.current : undefined;
    if (current) await put(client, collection, current);
    else if (error instanceof Conflict || isGone(error)) await drop(client, collection, id);
    throw error;
  }
}

const changesOf = <C extends CollectionTypes>(
  collection: Collection<C>,
): { readonly [K in Kind]: (change: Changes<C>[K]) => Promise<ChangeResults<C>[K]> } => ({
  create: (draft) => collection.create(draft),
  update: ({ target, patch }) => collection.update(target, patch),
  replace: ({ target, draft }) => collection.replace(target, draft),
  remove: (target) => collection.remove(target),
  upload: async ({ target, field, file, ...options }) => {
    await collection.file(target, field).put(file, options);
    return collection.get(typeof target === "string" ? target : target.id, {
      signal: options.signal,
    });
  },
});

/** A new resource has none yet. */
function idOf(kind: Kind, change: unknown): string | undefined {
  if (kind === "create") return undefined;
  const target = kind === "remove" ? change : (change as { readonly target: unknown }).target;
  return typeof target === "string" ? target : (target as Identified).id;
}

const isGone = (error: unknown): boolean => error instanceof Problem && error.status === 404;

/** An answer to a read that was sent before the change is not waited for. */
async function put<C extends CollectionTypes>(
  client: QueryClient,
  collection: Collection<C>,
  resource: C["resource"],
): Promise<void> {
  const options = resourceOptions(collection, resource.id);
  const { queryKey } = options;
  await client.cancelQueries({ queryKey });
  // With these options, the cache makes no copy of what is put into it.
  client.getQueryCache().build(client, client.defaultQueryOptions(options));
  client.setQueryData(queryKey, resource);
  const isVariant = (query: { readonly queryKey: QueryKey }) =>
    query.queryKey.length > queryKey.length;
  void client.invalidateQueries({ queryKey, predicate: isVariant });
  void client.invalidateQueries({ queryKey: listKey(collection) });
}

async function drop<C extends CollectionTypes>(
  client: QueryClient,
  collection: Collection<C>,
  id: string | undefined,
): Promise<void> {
  if (id === undefined) return;
  const queryKey = resourceKey(collection, id);
  await client.cancelQueries({ queryKey });
  client.removeQueries({ queryKey });
  void client.invalidateQueries({ queryKey: listKey(collection) });
}
