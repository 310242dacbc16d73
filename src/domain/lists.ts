// Answers list requests: checks them against the definition and reads from the store.

import { evaluated, Lookup, type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Collection, Rules } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import { isPlain, type ListRequest, listOffset, maxBytesOf } from "../model/query/list-request.ts";
import type { Query } from "../model/query/query.ts";
import type { QueryResult, Range, ReadOptions, Slice, Store } from "../store/store.ts";
import type { Access } from "./access.ts";
import { buildQuery, pageTooLargeProblem, tooManyGroups } from "./build-query.ts";
import type { CollectionAccess } from "./collection-access.ts";
import {
  isShortened,
  type ListResult,
  type ListTarget,
  type PlannedList,
  queryResult,
  sliceResult,
  type Unmasked,
  withOneMore,
} from "./list-result.ts";
import { collectionNotFound } from "./problems.ts";
import { needsShown, ShownPage } from "./shown-pages.ts";
import type { Dependence } from "./view.ts";

export type { ListResult, ListTarget, PlannedList } from "./list-result.ts";
export type { ReadOptions };

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
      collection === undefined
        ? collectionNotFound(access.name)
        : this.#targetOf(access, collection),
    );
  }

  #targetOf(opened: CollectionAccess, collection: Collection): MaybePromise<ListTarget | Problem> {
    const rules = rulesOf(collection, opened.rules);
    if (rules === opened.rules) return { access: opened, collection, rules };
    const { principal, name } = opened;
    return then(
      this.#access.byRules(principal, name, rules),
      (access) => access.require("read") ?? { access, collection, rules },
    );
  }

  /** Whether the caller sees the same resources as in an earlier target, and nothing has changed since. */
  isCurrentFor(access: CollectionAccess, earlier: ListTarget): boolean {
    const target = this.target(access);
    return (
      "collection" in target &&
      target.collection === earlier.collection &&
      target.rules === earlier.rules &&
      target.access.audienceKey === earlier.access.audienceKey
    );
  }

  /** Checks a list request against the definition; a problem lists every error. */
  plan(target: ListTarget, listRequest: ListRequest): MaybePromise<PlannedList | Problem> {
    const forbidden = target.access.require("read");
    if (forbidden !== undefined) return forbidden;
    const { conditions } = target.access.view("read");
    const isPlainPage = isPlain(listRequest) && conditions.length === 0;
    if (isPlainPage && listRequest.fields.length === 0 && listRequest.errors.length === 0) {
      return { target, listRequest: listRequest, query: undefined, others: [] };
    }
    const { access, collection } = target;
    const { isAdmin, seal } = access;
    const related = new Lookup((name) => this.#access.collection(access.principal, name));
    const caller = { view: access.view("read"), isAdmin, seal, related };
    const built = evaluated(
      () => buildQuery(collection, listRequest, caller),
      () => related.loading,
    );
    return then(built, (query) => {
      if (query instanceof Problem) return query;
      const others = [...related.found.values()].filter(({ rules }) => rules !== undefined);
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
    /** The size of a part of an export. */
    exportBytes?: number,
  ): MaybePromise<ListResult | Problem> {
    const { target, listRequest, query } = planned;
    const maxBytes = exportBytes ?? maxBytesOf(listRequest.limit, this.#maxResourceBytes);
    const isPage = exportBytes === undefined;
    const forbidden = target.access.require("read");
    if (forbidden !== undefined) return forbidden;
    const { name } = target.collection;
    if (query === undefined) {
      const range = { ...rangeOf(listRequest), maxBytes };
      return then(this.#store.slice(name, range, options), (slice) => {
        if (slice === undefined) return collectionNotFound(name);
        const readAgain = this.#readAgain(planned, slice.collection, options);
        if (readAgain !== undefined) return readAgain;
        const isCut = slice.fits !== undefined;
        if (isPage && needsShown(target.access, slice.resources, isCut))
          return this.#shownSlice(planned, range, slice, options);
        return slice.fits === undefined
          ? withMasks(sliceResult(planned, slice))
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
      // The ETag and the columns of an export show where its first part ends.
      const isShown = isPage || query.start === 0;
      if (isShown && needsShown(target.access, answer.resources, answer.isCut))
        return this.#shownQuery(planned, asked, answer, options, exportBytes);
      return isShortened(answer, query) &&
        (listRequest.cursor === undefined || answer.last === undefined)
        ? pageTooLargeProblem(listRequest, answer.resources.length)
        : withMasks(queryResult(planned, query, answer));
    });
  }

  async #shownSlice(
    planned: PlannedList,
    range: Range,
    first: Slice,
    options: ReadOptions | undefined,
  ): Promise<ListResult | Problem> {
    const page = new ShownPage(planned.target.access);
    const slice = await page.readSlice(this.#store, range, first, options);
    if (slice === undefined) return this.read(planned, options);
    if (page.isTooLarge) return pageTooLargeProblem(planned.listRequest, page.fits);
    const { resources, maskOf } = page;
    return { ...sliceResult(planned, { ...first, resources }), maskOf };
  }

  /** A page that is too large by what is shown is read again with fewer resources, if it has a cursor. */
  async #shownQuery(
    planned: PlannedList,
    asked: Query,
    first: QueryResult,
    options: ReadOptions | undefined,
    exportBytes: number | undefined,
  ): Promise<ListResult | Problem> {
    const { listRequest, query = asked } = planned;
    const page = new ShownPage(planned.target.access, exportBytes);
    const answer = await page.readQuery(this.#store, asked, first, options);
    if (answer === undefined) return this.read(planned, options, exportBytes);
    if (page.isTooLarge && listRequest.cursor !== undefined)
      return this.read({ ...planned, query: { ...query, limit: page.fits } }, options, exportBytes);
    const { resources, maskOf, fits } = page;
    const { last, isCut = false } = answer;
    if ((page.isTooLarge || isCut) && fits < query.limit)
      return pageTooLargeProblem(listRequest, fits);
    return { ...queryResult(planned, query, { ...first, resources, last, isCut }), maskOf };
  }

  /** Plans and reads again when the definition has changed in between. */
  #readAgain(
    { target, listRequest }: PlannedList,
    collection: Collection,
    options: ReadOptions | undefined,
  ): MaybePromise<ListResult | Problem> | undefined {
    if (collection.definition === target.collection.definition) return undefined;
    return then(this.#targetOf(target.access, collection), (current) =>
      current instanceof Problem
        ? current
        : then(this.plan(current, listRequest), (planned) =>
            planned instanceof Problem ? planned : this.read(planned, options),
          ),
    );
  }
}

/** Cached rules may be older than the collection; then its own definition counts. */
export const rulesOf = (collection: Collection, rules: Rules | undefined): Rules =>
  rules?.definition === collection.definition
    ? rules
    : { version: 0, definition: collection.definition };

/** Finds how the caller sees the resources. */
const withMasks = (listed: Unmasked): MaybePromise<ListResult> =>
  then(listed.target.access.masksOf(listed.resources), (maskOf) => ({ ...listed, maskOf }));

/** What decides about a list besides what is asked. */
export const dependenceOf = ({
  target,
  others,
}: Pick<PlannedList, "target" | "others">): Dependence =>
  others.length > 0 ? "related" : target.access.view("read").dependsOn;

const rangeOf = (listRequest: ListRequest) =>
  ({
    offset: listOffset(listRequest),
    limit: listRequest.limit,
    order: listRequest.sort[0]?.isDescending ? "-created" : "created",
  }) as const;
