// Computes the size, number and offset of pages.

export const pageLimits = {
  defaultLimit: 20,
  maxLimit: 1000,
  /** The limit for the fields of all resources of a page. A default page has room for bodies of the default size. */
  maxBytes: 20 * 1024 * 1024,
} as const;

/** `created` is oldest first, so that full pages do not change; `-created` is newest first. */
export type Order = "created" | "-created";

/** The number of pages, 0 for an empty collection. */
export const pageCount = (total: number, limit: number): number => Math.ceil(total / limit);

/** The number of items before the page. Pages are counted from 1. */
export const pageOffset = (page: number, limit: number): number =>
  Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
