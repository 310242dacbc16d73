// Reads the changes that a caller sees through grants: what enters its view is there, what leaves it is removed.

import { nextTurn } from "../lib/turns.ts";
import {
  type FormerFields,
  type FormerResource,
  formerFieldsOf,
  readFormerState,
  shownHashes,
} from "../model/access/former-state.ts";
import { readsNow } from "../model/access/rule-fields.ts";
import { definitionOf } from "../model/definition.ts";
import type { Feed, FormerState, Removal } from "../model/feed.ts";
import type { FeedPosition } from "../model/feed-position.ts";
import { Problem } from "../model/problem.ts";
import { IndexedContent } from "../model/query/index-plan.ts";
import { holds, type Predicate } from "../model/query/predicate.ts";
import type { Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { Store } from "../store/store.ts";
import { buildQuery, invalidQuery } from "./build-query.ts";
import type { CollectionAccess } from "./collection-access.ts";
import {
  type FeedPage,
  type FeedRequest,
  filteredEntries,
  fittingIn,
  isInvalid,
  isSealed,
  maxPageBytes,
  problemOf,
  type SentPosition,
} from "./feed-page.ts";
import type { ListTarget } from "./lists.ts";
import type { Mask } from "./mask.ts";
import { clientLeft, collectionNotFound, positionGone, rulesChanged } from "./problems.ts";
import type { PositionSeal } from "./sealed-position.ts";
import { type AppliedGrant, isNamed, type View } from "./view.ts";
import {
  changedSince,
  readViewPosition,
  stateOf,
  type ViewPosition,
  type ViewState,
  writeViewPosition,
} from "./view-position.ts";

/** Names those who see a part through grants. What they see is in the position. */
const throughGrants = "\n";

/** What a caller sees of a feed. */
interface Watcher {
  readonly access: CollectionAccess;
  readonly view: View;
  /** Those of the view, and the filters. */
  readonly conditions: readonly Predicate[];
  /** Set when the shown content of a resource can stay the same while others change. */
  readonly formerFields: FormerFields | undefined;
  /** How the caller sees the resources of the page. */
  readonly masks: WeakMap<Resource, Mask>;
}

export class ViewFeeds {
  readonly #store: Store;
  readonly #maxResourceBytes: number;
  readonly #seal: PositionSeal;

  constructor(store: Store, maxResourceBytes: number, seal: PositionSeal) {
    this.#store = store;
    this.#maxResourceBytes = maxResourceBytes;
    this.#seal = seal;
  }

  async since(
    target: ListTarget,
    { since, listRequest, signal }: FeedRequest,
  ): Promise<FeedPage | Problem> {
    const { access, collection, rules } = target;
    if (readsNow(rules)) return invalidQuery(listRequest, [dependsOnTime]);
    const view = access.view("read");
    const query = buildQuery(collection, listRequest, { view, isAdmin: access.isAdmin });
    if (query instanceof Problem) return query;
    const filters = query.conditions.slice(view.conditions.length);
    const state = await stateOf(this.#store, rules, view, filters);
    const opened = await this.#open(collection.name, since);
    if (opened instanceof Problem) return opened;
    const changed = opened && changedSince(opened, state, view);
    return changed ?? this.#read(target, query, state, opened, signal);
  }

  /** Returns undefined for the beginning. */
  async #open(name: string, sent: SentPosition): Promise<ViewPosition | Problem | undefined> {
    if (sent === 0) return undefined;
    const seal = await this.#seal.of(name, throughGrants);
    const text = isSealed(sent) ? seal.open(sent) : undefined;
    return readViewPosition(text ?? "") ?? positionGone;
  }

  /** Reads on to one entry more than the page has, so that `isMore` does not show the changes of others. */
  async #read(
    { access, collection, rules }: ListTarget,
    { conditions, limit }: Query,
    state: ViewState,
    since: ViewPosition | undefined,
    signal: AbortSignal | undefined,
  ): Promise<FeedPage | Problem> {
    const { name } = collection;
    const view = access.view("read");
    const formerFields = view.hidesFields ? formerFieldsOf(definitionOf(rules)) : undefined;
    const masks = new WeakMap<Resource, Mask>();
    const watcher = { access, view, conditions, formerFields, masks };
    const entries = new Map<string, Resource | Removal>();
    let position: FeedPosition | 0 = since?.position ?? 0;
    let whole = since?.whole;
    for (;;) {
      const feed: Feed | Problem = await this.#readSome(name, position, limit, since);
      if (feed instanceof Problem) return feed;
      if (feed.collection.definition !== collection.definition) return rulesChanged;
      // A copy that has just been begun contains nothing from before.
      whole ??= feed.collection.revision;
      await takeEntries(entries, feed, watcher, since, whole);
      const isEnd = !feed.isCut && feed.entries.length < this.#countFor(limit);
      const last = isEnd ? undefined : feed.entries.at(-1);
      const revision = last?.revision ?? feed.collection.revision;
      position = { epoch: feed.epoch, revision, time: 0, start: whole };
      const count = Math.min(limit, fittingIn(entries.values()));
      const isMore = entries.size > count;
      if (isMore || isEnd) {
        const page = [...entries.values()].slice(0, count);
        const end = isMore ? page.at(-1) : undefined;
        if (end !== undefined) position = { ...position, revision: end.revision };
        const isLast = !isMore;
        const reached = { ...state, position, whole: isLast ? position.revision : whole, isLast };
        const seal = await this.#seal.of(name, throughGrants);
        return {
          collection: feed.collection,
          entries: page.toSorted(byId),
          next: seal.close(writeViewPosition(reached)),
          isMore,
          isWhole: false,
          maskOf: (resource) => watcher.masks.get(resource) ?? unknownResource(),
        };
      }
      // Other requests get a turn.
      await nextTurn();
      if (signal?.aborted) return clientLeft;
    }
  }

  async #readSome(
    name: string,
    position: FeedPosition | 0,
    limit: number,
    since: ViewPosition | undefined,
  ): Promise<Feed | Problem> {
    const count = this.#countFor(limit);
    const maxBytes = count * this.#maxResourceBytes > maxPageBytes ? maxPageBytes : undefined;
    const former = since && { after: since.whole, upTo: since.position.revision };
    const feed = await this.#store.since(name, position, { limit: count, maxBytes, former });
    if (feed === undefined) return collectionNotFound(name);
    return isInvalid(feed) ? problemOf(feed) : feed;
  }

  #countFor(limit: number): number {
    return Math.max(limit + 1, filteredEntries);
  }
}

/** The order of the last changes would show which resources have changes that the caller does not see. */
const byId = (one: { readonly id: string }, other: { readonly id: string }): number =>
  one.id < other.id ? -1 : 1;

/** Adds what the caller sees. What was added before and has changed since then is replaced. */
async function takeEntries(
  entries: Map<string, Resource | Removal>,
  { entries: read, formerStates = [] }: Feed,
  watcher: Watcher,
  since: ViewPosition | undefined,
  /** The revision of which the client has, or begins, a whole copy. */
  whole: number,
): Promise<void> {
  const former = Map.groupBy(formerStates, ({ id }) => id);
  const seen = await watcher.access.decide(() =>
    read.map((entry) => asSeen(entry, former.get(entry.id) ?? [], watcher, since, whole)),
  );
  const visible = seen.flatMap((entry) => (entry && "fields" in entry ? [entry] : []));
  const maskOf = await watcher.access.masksOf(visible);
  for (const [index, entry] of read.entries()) {
    entries.delete(entry.id);
    const shown = seen[index];
    if (shown !== undefined) entries.set(entry.id, shownOf(shown, maskOf, watcher));
  }
}

/** Only what is shown is kept, and counts for the size of the page. */
function shownOf(
  entry: Resource | Removal,
  maskOf: (resource: Resource) => Mask,
  { masks }: Watcher,
): Resource | Removal {
  if ("kind" in entry) return entry;
  const mask = maskOf(entry);
  const shown = mask.shownOf(entry);
  masks.set(shown, mask);
  return shown;
}

function unknownResource(): never {
  throw new Error("the resource is not in this page");
}

/** Returns undefined when the caller's copy does not change. */
function asSeen(
  entry: Resource | Removal,
  former: readonly FormerState[],
  watcher: Watcher,
  since: ViewPosition | undefined,
  whole: number,
): Resource | Removal | undefined {
  const { view, access, conditions } = watcher;
  const { facts } = access;
  const last = former
    .map(({ id, state, endedAt }) => ({ ...readFormerState(id, state), endedAt }))
    .findLast(({ resource }) => view.includes(resource, facts));
  const { id, revision } = entry;
  // The time of the entry can be that of a later change, which the caller does not see.
  if ("kind" in entry || !view.includes(entry, facts))
    return last && { kind: "removal", id, revision, removedAt: last.endedAt };
  // While a copy is read, it is not known which states the client has.
  if (since?.isLast && last && isShownAlike(last, entry, watcher)) return undefined;
  const content = new IndexedContent(entry, facts);
  if (conditions.every((condition) => holds(condition, content))) return entry;
  // The client may have another state of what it sees, also one that it wrote itself.
  if (last === undefined && revision <= whole) return undefined;
  const changedAt = access.maskNow(entry)?.showsUpdates ? entry.updatedAt : entry.createdAt;
  return { kind: "removal", id, revision, removedAt: last?.endedAt ?? changedAt };
}

/** Whether the same fields are shown with the same values, whichever grants show them. */
function isShownAlike(
  before: FormerResource,
  after: Resource,
  { access, view, formerFields }: Watcher,
): boolean {
  if (formerFields === undefined) return false;
  const old = view.holding(before.resource, access.facts);
  const current = view.holding(after, access.facts);
  if (!showAll(old, current) || !showAll(current, old)) return false;
  const hashes = shownHashes(formerFields, after);
  return [...old, ...current].every(({ index }) => hashes[index] === before.shown[index]);
}

/** Whether some grants list all the fields that others list. One without a list shows more than any list. */
function showAll(some: readonly AppliedGrant[], others: readonly AppliedGrant[]): boolean {
  const shown = some.flatMap(({ fields = [] }) => fields);
  return others.every(({ fields }) => fields?.every((field) => isNamed(field, shown)));
}

const dependsOnTime = {
  parameter: "since",
  detail:
    "what you may read here depends on the time, so it changes without a change of a resource; read the list instead",
};
