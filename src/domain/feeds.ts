// Reads the changes of a collection after a position, as one caller sees them.

import { createHash } from "node:crypto";
import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { eachInTurns, nextTurn } from "../lib/turns.ts";
import type { Collection, Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Feed, Removal } from "../model/feed.ts";
import { type FeedPosition, readFeedPosition, writeFeedPosition } from "../model/feed-position.ts";
import { Problem } from "../model/problem.ts";
import { inFixedOrder } from "../model/query/cursor.ts";
import { IndexedContent } from "../model/query/index-plan.ts";
import { holds, type Predicate } from "../model/query/predicate.ts";
import { hidesFields } from "../model/render.ts";
import type { Resource } from "../model/resource.ts";
import type { Store } from "../store/store.ts";
import { buildQuery } from "./build-query.ts";
import type { CollectionAccess } from "./collection-access.ts";
import {
  entrySize,
  type FeedPage,
  type FeedRequest,
  filteredEntries,
  fittingIn,
  isInvalid,
  isSealed,
  maxPageBytes,
  problemOf,
} from "./feed-page.ts";
import type { ListTarget } from "./lists.ts";
import { masksOf } from "./mask.ts";
import { clientLeft, collectionNotFound, positionGone, shownChanged } from "./problems.ts";
import { PositionSeal } from "./sealed-position.ts";
import { wholeView } from "./view.ts";
import { ViewFeeds } from "./view-feeds.ts";

export type { FeedPage, FeedRequest, SentPosition } from "./feed-page.ts";

/** What a caller sees of a feed. */
interface FeedView {
  readonly conditions: readonly Predicate[];
  readonly owner: string | undefined;
  readonly limit: number;
  /** A hash of the conditions, and of the schema if it hides fields; undefined without. */
  readonly shown: string | undefined;
  /** The same without conditions: a copy of everything has what matches, too. */
  readonly shownUnfiltered: string | undefined;
}

/** Where a feed has been read up to. */
interface Reached {
  readonly entries: (Resource | Removal)[];
  readonly position: FeedPosition;
  readonly isMore: boolean;
  readonly collection: Collection;
  /** How many entries of the store were read. */
  readonly read: number;
}

export class Feeds {
  readonly #store: Store;
  readonly #maxResourceBytes: number;
  readonly #seal: PositionSeal;
  readonly #ofViews: ViewFeeds;

  /** `maxResourceBytes` is the limit of one resource. */
  constructor(store: Store, maxResourceBytes: number) {
    this.#store = store;
    this.#maxResourceBytes = maxResourceBytes;
    this.#seal = new PositionSeal(() => store.secret());
    this.#ofViews = new ViewFeeds(store, maxResourceBytes, this.#seal);
  }

  /** Returns what changed after a position, so that a client can update its copy. */
  since(target: ListTarget, request: FeedRequest): MaybePromise<FeedPage | Problem> {
    const { access, collection } = target;
    const forbidden = access.require("read");
    if (forbidden !== undefined) return forbidden;
    const { owner, isByFields } = access.view("read");
    if (isByFields) return this.#ofViews.since(target, request);
    const caller = { view: wholeView, isAdmin: access.isAdmin };
    const query = buildQuery(collection, request.listRequest, caller);
    if (query instanceof Problem) return query;
    const { conditions, limit } = query;
    const shown = shownHash(target.rules, conditions);
    const shownUnfiltered = shownHash(target.rules, []);
    const view = { conditions, owner, limit, shown, shownUnfiltered };
    const { name } = collection;
    if (owner !== undefined)
      return then(this.#readOwned(target, request, owner, view), (page) =>
        page instanceof Problem ? page : withMasks(page, access),
      );
    if (isSealed(request.since)) return positionGone;
    const reading = hidesFields(target.rules)
      ? this.#readOn(target, request.since, view, request.signal)
      : this.#read(name, request.since, view);
    return then(reading, (reached) =>
      reached instanceof Problem
        ? reached
        : { ...reached, next: writeFeedPosition(reached.position), isWhole: true },
    );
  }

  async #readOwned(
    target: ListTarget,
    { since: sent, signal }: FeedRequest,
    owner: string,
    view: FeedView,
  ): Promise<FeedPage | Problem> {
    const seal = await this.#seal.of(target.collection.name, owner);
    const since = isSealed(sent) ? readFeedPosition(seal.open(sent) ?? "") : sent;
    if (since === undefined || (since !== 0 && !isSealed(sent))) return positionGone;
    const reached = await this.#readOn(target, since, view, signal);
    if (reached instanceof Problem) return reached;
    return { ...reached, next: seal.close(writeFeedPosition(reached.position)), isWhole: false };
  }

  /**
   * Reads on while only hidden bytes end the page. For an owner it reads one entry more than the page has,
   * so that `isMore` does not show the changes of others.
   */
  async #readOn(
    { collection: { name }, rules }: ListTarget,
    since: FeedPosition | 0,
    view: FeedView,
    signal: AbortSignal | undefined,
  ): Promise<Reached | Problem> {
    const mask = masksOf(rules).whole;
    const entries: (Resource | Removal)[] = [];
    const isOwned = view.owner !== undefined;
    const wanted = isOwned ? view.limit + 1 : view.limit;
    let left = isOwned ? Number.POSITIVE_INFINITY : countFor(view);
    for (let position: FeedPosition | 0 = since; ; ) {
      const limit = wanted - entries.length;
      const reached: Reached | Problem = await this.#read(name, position, { ...view, limit }, left);
      if (reached instanceof Problem) return reached;
      left -= reached.read;
      await eachInTurns(reached.entries, entrySize, (entry) => {
        entries.push("kind" in entry ? entry : mask.shownOf(entry));
      });
      ({ position } = reached);
      const count = Math.min(view.limit, fittingIn(entries));
      const isCut = entries.length > count;
      if (isCut || !reached.isMore || entries.length === wanted || left <= 0) {
        const page = entries.slice(0, count);
        const last = page.at(-1);
        if (isCut && last) position = { ...position, revision: last.revision, time: timeOf(last) };
        return { ...reached, entries: page, position, isMore: isCut || reached.isMore };
      }
      // Other requests get a turn.
      await nextTurn();
      if (signal?.aborted) return clientLeft;
    }
  }

  /** `most` is how many entries of the store are read at most. */
  #read(
    name: string,
    since: FeedPosition | 0,
    view: FeedView,
    most = Number.POSITIVE_INFINITY,
  ): MaybePromise<Reached | Problem> {
    const { owner, shown, shownUnfiltered } = view;
    const isChanged = since !== 0 && since.shown !== shown && since.shown !== shownUnfiltered;
    if (isChanged) return shownChanged;
    const count = Math.min(countFor(view), most);
    const maxBytes = count * this.#maxResourceBytes > maxPageBytes ? maxPageBytes : undefined;
    return then(this.#store.since(name, since, { limit: count, maxBytes, owner }), (feed) =>
      feed === undefined
        ? collectionNotFound(name)
        : isInvalid(feed)
          ? problemOf(feed)
          : reachedIn(feed, since, view, count),
    );
  }
}

/** How many entries of the store are read at once. */
const countFor = ({ conditions, limit }: FeedView): number =>
  conditions.length > 0 ? Math.max(limit, filteredEntries) : limit;

/** The validators of an owner's resources do not show how much others write. */
function withMasks(page: FeedPage, access: CollectionAccess): MaybePromise<FeedPage> {
  const resources = page.entries.filter((entry) => "fields" in entry);
  return then(access.masksOf(resources), (maskOf) => ({ ...page, maskOf }));
}

/** When it changes, resources may be shown otherwise, or match otherwise, without a change of their own. */
function shownHash(rules: Rules, conditions: readonly Predicate[]): string | undefined {
  const hiding = hidesFields(rules) ? definitionOf(rules).schema : undefined;
  if (hiding === undefined && conditions.length === 0) return undefined;
  const asked = JSON.stringify([hiding, inFixedOrder(conditions)]);
  const hash = createHash("sha256").update(asked);
  return hash.digest().readUIntBE(0, 6).toString(36);
}

/** Takes the entries that the caller sees, and finds the position after them. */
function reachedIn(feed: Feed, since: FeedPosition | 0, view: FeedView, count: number): Reached {
  const { collection, epoch, isCut = false, end } = feed;
  const { conditions, owner, limit, shown } = view;
  const start = since === 0 ? collection.revision : (since.start ?? 0);
  const isWhole = conditions.length === 0 && owner === undefined;
  const entries: (Resource | Removal)[] = [];
  let last: Resource | Removal | undefined;
  let read = 0;
  for (const entry of feed.entries) {
    if (entries.length === limit) break;
    read++;
    last = entry;
    const seen = asSeen(entry, conditions);
    // A copy that has just been begun contains nothing to remove.
    if (isWhole || !("kind" in seen) || seen.revision > start) entries.push(seen);
  }
  const areAllTaken = last === feed.entries.at(-1);
  const isComplete = areAllTaken && !isCut && feed.entries.length < count;
  const revision = isComplete ? (end ?? collection.revision) : (last?.revision ?? start);
  const position = { ...positionAt(revision, epoch, last, since), start, shown };
  return { entries, position, isMore: revision < collection.revision, collection, read };
}

/** An entry that does not match is removed from the copy: the client may have an earlier state of it. */
function asSeen(entry: Resource | Removal, conditions: readonly Predicate[]): Resource | Removal {
  if ("kind" in entry || conditions.length === 0) return entry;
  const content = new IndexedContent(entry);
  if (conditions.every((condition) => holds(condition, content))) return entry;
  const { id, revision, updatedAt } = entry;
  return { kind: "removal", id, revision, removedAt: updatedAt };
}

/** The time is known for the last entry, and for the position of the request itself. */
function positionAt(
  revision: number,
  epoch: string,
  last: Resource | Removal | undefined,
  since: FeedPosition | 0,
): FeedPosition {
  if (last?.revision === revision) return { epoch, revision, time: timeOf(last) };
  const isSame = since !== 0 && since.revision === revision;
  return { epoch, revision, time: isSame ? since.time : 0 };
}

const timeOf = (entry: Resource | Removal): number =>
  "kind" in entry ? entry.removedAt : entry.updatedAt;
