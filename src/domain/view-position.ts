// The feed position of a caller who sees a part through grants: it also tells what the caller's view was.

import { createHash } from "node:crypto";
import type { Rules } from "../model/collection.ts";
import { type FeedPosition, readFeedPosition, writeFeedPosition } from "../model/feed-position.ts";
import type { Problem } from "../model/problem.ts";
import { inFixedOrder } from "../model/query/cursor.ts";
import type { Predicate } from "../model/query/predicate.ts";
import { relatedIn } from "../model/query/related.ts";
import type { Store } from "../store/store.ts";
import { relatedChanged, rulesChanged, viewChanged } from "./problems.ts";
import type { View } from "./view.ts";

/** What a view depends on besides the resources themselves. */
export interface ViewState {
  /** The version of the rules. */
  readonly version: number;
  /** A hash of the grants with the values of the caller, and of the filters. */
  readonly view: string;
  /** A hash of the states of the collections that grants refer to. */
  readonly related: string;
}

export interface ViewPosition extends ViewState {
  readonly position: FeedPosition;
  /**
   * The revision of which the client has a whole copy. It is before the position while the copy is read
   * on; after it in a copy that has just been begun, which contains nothing that ended before.
   */
  readonly whole: number;
  /** Whether the page before it was the last one: then the client has the state at `whole`. */
  readonly isLast: boolean;
}

/** Reads it before the resources, so that a later change is noticed at the next position. */
export async function stateOf(
  store: Store,
  { version }: Rules,
  view: View,
  filters: readonly Predicate[],
): Promise<ViewState> {
  const names = new Set(view.grants.flatMap(({ where }) => (where ? collectionsIn(where) : [])));
  const states = await Promise.all(
    [...names].map(async (name) => {
      const { createdAt, revision } = (await store.collection(name)) ?? {};
      return [name, createdAt, revision];
    }),
  );
  const seen =
    filters.length === 0 ? hashOfView(view) : hashOf([hashOfView(view), inFixedOrder(filters)]);
  return { version, view: seen, related: hashOf(states) };
}

/** Returns why a position is no longer valid; undefined when it is. One without filters is valid with any. */
export function changedSince(before: ViewState, now: ViewState, view: View): Problem | undefined {
  if (before.version !== now.version) return rulesChanged;
  if (before.view !== now.view && before.view !== hashOfView(view)) return viewChanged;
  return before.related === now.related ? undefined : relatedChanged;
}

/** The collections that a predicate asks about. */
const collectionsIn = (predicate: Predicate): readonly string[] =>
  relatedIn(predicate).flatMap(({ collection, related }) => [
    collection,
    ...collectionsIn(related),
  ]);

const hashes = new WeakMap<View, string>();

/** Computed once, because sets can be large. */
function hashOfView(view: View): string {
  const known = hashes.get(view);
  if (known !== undefined) return known;
  const hash = hashOf(view.grants.map(({ where = null, fields = null }) => [where, fields]));
  hashes.set(view, hash);
  return hash;
}

/** 96 bits. */
const hashChars = 16;

const hashOf = (value: unknown): string =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, hashChars);

/** Cannot be in any of the members. */
const separator = "~";

export const writeViewPosition = (reached: ViewPosition): string =>
  [
    writeFeedPosition(reached.position),
    reached.whole.toString(36),
    reached.version.toString(36),
    reached.view,
    reached.related,
    reached.isLast ? "1" : "0",
  ].join(separator);

export function readViewPosition(text: string): ViewPosition | undefined {
  const [place = "", whole = "", version = "", view = "", related = "", last = ""] =
    text.split(separator);
  const position = readFeedPosition(place);
  return (
    position && {
      position,
      whole: Number.parseInt(whole, 36),
      version: Number.parseInt(version, 36),
      view,
      related,
      isLast: last === "1",
    }
  );
}
