// Pages of a collection: how large they are, how many, and where each begins.

export const pageLimits = {
  defaultLimit: 20,
  maxLimit: 1000,
  /** Of the fields of a page's resources: a default page has room for bodies of the default size. */
  maxBytes: 20 * 1024 * 1024,
} as const;

/** `created`: as the collection grew, so full pages stay as they are; `-created`: newest first. */
export type Order = "created" | "-created";

/** How many pages a total makes; an empty collection has none. */
export const pageCount = (total: number, limit: number): number => Math.ceil(total / limit);

/** How many items come before the page; pages are counted from 1. */
export const pageOffset = (page: number, limit: number): number =>
  Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
