// A window on a collection, and where its neighbours are.

export const pageLimits = { defaultLimit: 20, maxLimit: 1000 } as const;

/** `created`: as the collection grew, so full pages stay as they are; `-created`: newest first. */
export type Order = "created" | "-created";

export interface Window {
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  readonly order: Order;
}

/** How many pages a total makes; an empty collection has none. */
export const pageCount = (total: number, limit: number): number => Math.ceil(total / limit);

/** The first item of the window, counted from 0. */
export const windowOffset = (window: Window): number => (window.page - 1) * window.limit;
