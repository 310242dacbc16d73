// Reads large pages of which fields are hidden: only what is shown counts for the size of a page.

import { eachInTurns } from "../lib/turns.ts";
import { pageLimits, shortPageBytes } from "../model/query/list-request.ts";
import type { Query } from "../model/query/query.ts";
import { hidesFields } from "../model/render.ts";
import { type Resource, sizeOf } from "../model/resource.ts";
import type { QueryResult, Range, ReadOptions, Slice, Store } from "../store/store.ts";
import type { CollectionAccess } from "./collection-access.ts";
import type { Mask } from "./mask.ts";

/** Whether hidden fields could be noticed by the size of a page. */
export const needsShown = (
  access: CollectionAccess,
  resources: readonly Resource[],
  isCut = false,
): boolean =>
  (access.view("read").hidesFields || hidesFields(access.rules)) &&
  (isCut || resources.reduce((sum, each) => sum + sizeOf(each), 0) > shortPageBytes);

/** A page that has only what the caller is shown. */
export class ShownPage {
  readonly resources: Resource[] = [];
  /** How many of the resources are within the limit of a page, at least one. */
  fits = 0;
  readonly #access: CollectionAccess;
  readonly #maxBytes: number;
  readonly #masks = new Map<Resource, Mask>();
  #bytes = 0;

  constructor(access: CollectionAccess, maxBytes: number = pageLimits.maxBytes) {
    this.#access = access;
    this.#maxBytes = maxBytes;
  }

  get isTooLarge(): boolean {
    return this.fits < this.resources.length;
  }

  readonly maskOf = (resource: Resource): Mask => {
    const mask = this.#masks.get(resource);
    if (mask === undefined) throw new Error("the resource is not in this page");
    return mask;
  };

  async #add(resources: readonly Resource[]): Promise<void> {
    const maskOf = await this.#access.masksOf(resources);
    await eachInTurns(resources, sizeOf, (resource) => {
      const mask = maskOf(resource);
      const shown = mask.shownOf(resource);
      this.#bytes += sizeOf(shown);
      if (this.resources.length === 0 || this.#bytes <= this.#maxBytes) this.fits++;
      this.resources.push(shown);
      this.#masks.set(shown, mask);
    });
  }

  /** Reads on while only hidden bytes cut the page. Returns the last answer of the store. */
  async readQuery(
    store: Store,
    query: Query,
    first: QueryResult,
    options: ReadOptions | undefined,
  ): Promise<QueryResult | undefined> {
    for (let answer: QueryResult | undefined = first; ; ) {
      await this.#add(answer.resources);
      const { length } = this.resources;
      if (!answer.isCut || this.isTooLarge) return answer;
      const start: Query["start"] | undefined =
        typeof query.start === "number" ? query.start + length : answer.last;
      if (start === undefined) return answer;
      const rest = { ...query, start, limit: query.limit - length, isCounted: false };
      answer = await store.query(first.collection.name, rest, options);
      if (answer?.collection.definition !== first.collection.definition) return undefined;
    }
  }

  /** The same for a plain page. */
  async readSlice(
    store: Store,
    range: Range,
    first: Slice,
    options: ReadOptions | undefined,
  ): Promise<Slice | undefined> {
    let limit = first.fits ?? range.limit;
    for (let slice: Slice | undefined = first; ; ) {
      await this.#add(slice.resources);
      const { length } = this.resources;
      const isEnd = slice.fits === undefined && slice.resources.length < limit;
      if (isEnd || length === range.limit || this.isTooLarge) return slice;
      limit = slice.fits ?? range.limit - length;
      const next = { ...range, offset: range.offset + length, limit };
      slice = await store.slice(first.collection.name, next, options);
      if (slice?.collection.definition !== first.collection.definition) return undefined;
    }
  }
}
