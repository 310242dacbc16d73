// Lists: what a caller asks of a collection, judged by its definition and answered by the store.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import type { Collection, Rules } from "../model/collection.ts";
import type { FeedPosition } from "../model/feed-position.ts";
import { Problem } from "../model/problem.ts";
import { writeCursor } from "../model/query/cursor.ts";
import { isPlain, type ListRequest, listOffset } from "../model/query/list-request.ts";
import { pageCount, pageLimits } from "../model/query/page.ts";
import { isRanked, type Position, type Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { Feed, QueryResult, Slice, Store } from "../store/store.ts";
import { type Caller, visibilityOf } from "./access.ts";
import { buildQuery, markOfQuery, refuseBroad, refuseLarge } from "./build-query.ts";
import { collectionNotFound, othersHidden, positionGone } from "./problems.ts";

/** A collection as a caller finds it. */
export interface ListTarget {
  readonly caller: Caller;
  readonly collection: Collection;
  /** Those of the collection's own moment. */
  readonly rules: Rules;
  /** Whose resources alone are there for the caller; none for everybody's. */
  readonly owner: string | undefined;
}

/** A question that the collection can answer. */
export interface PlannedList {
  readonly target: ListTarget;
  readonly question: ListRequest;
  /** None where a page in the order of creation is asked for and nothing else. */
  readonly query: Query | undefined;
}

export interface ListResult {
  readonly target: ListTarget;
  readonly question: ListRequest;
  readonly resources: readonly Resource[];
  /** None when it was not asked for. */
  readonly total: number | undefined;
  readonly isMore: boolean;
  /** The cursor with which a walk goes on, when there is more. */
  readonly next: string | undefined;
}

export class Lists {
  readonly #store: Store;
  readonly #maxResourceBytes: number;

  /** `maxResourceBytes` is what one resource may have. */
  constructor(store: Store, maxResourceBytes: number) {
    this.#store = store;
    this.#maxResourceBytes = maxResourceBytes;
  }

  /** None where so many resources are always few enough bytes: then nobody counts them. */
  #maxBytesOf(limit: number): number | undefined {
    const { maxBytes } = pageLimits;
    return limit * this.#maxResourceBytes > maxBytes ? maxBytes : undefined;
  }

  target(caller: Caller, name: string): MaybePromise<ListTarget | Problem> {
    return then(this.#store.collection(name), (collection) => {
      if (collection === undefined) return collectionNotFound(name);
      return then(this.#store.rules(name), (rules) => targetOf(caller, collection, rules));
    });
  }

  /** The question as this collection understands it, or every fault of it at once. */
  plan(target: ListTarget, question: ListRequest): PlannedList | Problem {
    const isAtHand = isPlain(question) && target.owner === undefined;
    if (isAtHand && question.fields.length === 0 && question.errors.length === 0) {
      return { target, question, query: undefined };
    }
    const query = buildQuery(target.collection, question, target.owner);
    if (query instanceof Problem) return query;
    return { target, question, query: isAtHand ? undefined : query };
  }

  /** A walk by cursor has shorter pages where resources are large; a page with a number is refused. */
  read(
    listing: PlannedList,
    maxBytes: number | undefined = this.#maxBytesOf(listing.question.limit),
  ): MaybePromise<ListResult | Problem> {
    const { target, question, query } = listing;
    const { name } = target.collection;
    if (query === undefined) {
      return then(this.#store.slice(name, { ...rangeOf(question), maxBytes }), (slice) => {
        if (slice === undefined) return collectionNotFound(name);
        const again = this.#again(listing, slice.collection);
        if (again !== undefined) return again;
        return slice.isCut
          ? refuseLarge(question, slice.resources.length)
          : listedOf(target, question, slice);
      });
    }
    return then(this.#store.query(name, { ...asked(query), maxBytes }), (answer) => {
      if (answer === undefined) return collectionNotFound(name);
      const again = this.#again(listing, answer.collection);
      if (again !== undefined) return again;
      return answer.kind === "broad"
        ? refuseBroad(answer.collection, question)
        : answer.isCut && (question.cursor === undefined || answer.last === undefined)
          ? refuseLarge(question, answer.resources.length)
          : foundOf(moved(target, answer.collection), question, query, answer);
    });
  }

  /** What changed after a position, so that a client can keep a copy in step. */
  since(
    caller: Caller,
    collection: string,
    position: FeedPosition | 0,
    limit: number,
  ): MaybePromise<Feed | Problem> {
    return then(this.#store.rules(collection), (rules) => {
      if (visibilityOf(caller, "read", rules) !== undefined) return othersHidden;
      const maxBytes = this.#maxBytesOf(limit);
      return then(this.#store.since(collection, position, limit, maxBytes), (feed) =>
        feed === "gone" ? positionGone : (feed ?? collectionNotFound(collection)),
      );
    });
  }

  /** Others may have given it another definition: then the question means another thing. */
  #again(
    { target, question }: PlannedList,
    collection: Collection,
  ): MaybePromise<ListResult | Problem> | undefined {
    if (collection.definition === target.collection.definition) return undefined;
    const listing = this.plan(moved(target, collection), question);
    return listing instanceof Problem ? listing : this.read(listing);
  }
}

/** All but the resources, where it is known before they are read. */
export const predictable = ({ target, question, query }: PlannedList): ListResult | undefined =>
  query === undefined
    ? listedOf(target, question, { collection: target.collection, resources: [] })
    : undefined;

/** The rules that are remembered may be older than the collection, and a view must not be. */
export const rulesOf = (collection: Collection, rules: Rules | undefined): Rules =>
  rules?.definition === collection.definition
    ? rules
    : { version: 0, definition: collection.definition };

function targetOf(
  caller: Caller,
  collection: Collection,
  remembered: Rules | undefined,
): ListTarget {
  const rules = rulesOf(collection, remembered);
  return { caller, collection, rules, owner: visibilityOf(caller, "read", rules) };
}

/** The same at another moment. */
const moved = ({ caller, rules }: ListTarget, collection: Collection): ListTarget =>
  targetOf(caller, collection, rules);

const rangeOf = (question: ListRequest) =>
  ({
    offset: listOffset(question),
    limit: question.limit,
    order: question.sort[0]?.isDescending ? "-created" : "created",
  }) as const;

function listedOf(
  target: ListTarget,
  question: ListRequest,
  { collection, resources }: Slice,
): ListResult {
  const { total } = collection;
  return {
    target: moved(target, collection),
    question,
    resources,
    total: question.isCounted ? total : undefined,
    isMore: question.page < pageCount(total, question.limit),
    next: undefined,
  };
}

/** Where neither a total nor a position tells whether there is more, one more resource does. */
const isPeeking = (query: Query): boolean => isRanked(query) && !query.isCounted;

const asked = (query: Query): Query =>
  isPeeking(query) ? { ...query, limit: query.limit + 1 } : query;

function foundOf(
  target: ListTarget,
  question: ListRequest,
  query: Query,
  found: QueryResult,
): ListResult {
  const { resources, total, last } = found;
  const next = question.cursor && last && cursorAt(target, query, last);
  return {
    target,
    question,
    resources: resources.length > query.limit ? resources.slice(0, query.limit) : resources,
    total: question.isCounted ? total : undefined,
    isMore:
      last !== undefined ||
      resources.length > query.limit ||
      (total !== undefined && question.page < pageCount(total, question.limit)),
    next,
  };
}

const cursorAt = ({ collection }: ListTarget, query: Query, position: Position): string =>
  writeCursor(position, markOfQuery(collection, query));
