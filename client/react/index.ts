// React hooks for collections, on top of TanStack Query: lists, resources, and changes that keep its cache right.

export {
  type Listing,
  listKey,
  listOptions,
  type Reading,
  resourceKey,
  resourceOptions,
} from "./options.ts";
export { type QueryOptions, useList, useResource } from "./queries.ts";
export {
  type ChangeError,
  type ChangeOptions,
  type ChangeResults,
  type Changes,
  useMutation,
} from "./use-mutation.ts";
