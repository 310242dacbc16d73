// Helpers for the contract tests: queries and their results.

import assert from "node:assert/strict";
import type { Condition } from "../../../src/model/query/predicate.ts";
import type { Position, Query, Sorting, Word } from "../../../src/model/query/query.ts";
import {
  beginningWith,
  equalTo,
  keyOf,
  type Span,
  type ValueKind,
} from "../../../src/model/query/sort-key.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Put, QueryResult, Store } from "../../../src/store/store.ts";
import { isLong } from "../../seeds.ts";
import { isShort } from "../../short-run.ts";
import { put } from "./change-helpers.ts";

export const ask = (more: Partial<Query> = {}): Query => ({
  conditions: [],
  words: [],
  sortings: [],
  isNewestFirst: false,
  start: 0,
  limit: 1_000,
  isCounted: true,
  ...more,
});

export const where = (field: string, kind: ValueKind, ...spans: readonly Span[]): Condition => ({
  field,
  kind,
  spans,
});

export const is = (field: string, kind: ValueKind, value: unknown): Condition =>
  where(field, kind, equalTo(keyOf(kind, value)));

export const not = (condition: Condition): Condition => ({ ...condition, isNegated: true });

/** A text that fits the pattern, and begins as the pattern does. */
export const like = (field: string, pattern: string): Condition => {
  const [start = ""] = pattern.split("*");
  return {
    ...where(field, "text", beginningWith(start)),
    match: { operator: "like", text: pattern },
  };
};

export const by = (field: string, kind: ValueKind, isDescending = false): Sorting => ({
  field,
  kind,
  isDescending,
});

/** Words as they are searched: one that ends with an asterisk is a prefix. */
export const wordsLike = (text: string): readonly Word[] =>
  text.split(" ").map((word) => ({ text: word.replace("*", ""), isPrefix: word.endsWith("*") }));

export const putJson = (id: string, fields: unknown, more: Partial<Put> = {}): Put => ({
  ...put(id, { fields: JSON.stringify(fields) }),
  ...more,
});

export const idsIn = (resources: readonly Resource[]): readonly string[] =>
  resources.map(({ id }) => id);

export async function answerTo(
  store: Store,
  query: Query,
  collection = "things",
): Promise<QueryResult> {
  const answer = await store.query(collection, query);
  assert.ok(answer);
  return answer;
}

/** The ids of all that a query finds, divided by spaces. */
export async function idsFor(store: Store, more: Partial<Query>, collection = "things") {
  const { resources } = await answerTo(store, ask(more), collection);
  return idsIn(resources).join(" ");
}

/** The ids of page after page, each found by how many came before it. */
export async function idsByOffset(store: Store, query: Query, collection = "things") {
  const ids: string[] = [];
  for (;;) {
    const { resources } = await answerTo(store, { ...query, start: ids.length }, collection);
    if (resources.length === 0) return ids;
    ids.push(...idsIn(resources));
  }
}

/** The ids of page after page, each found by where the one before it ended. */
export async function idsByPosition(store: Store, query: Query, collection = "things") {
  const ids: string[] = [];
  for (let start: number | Position | undefined = 0; start !== undefined; ) {
    const { resources, last }: QueryResult = await answerTo(store, { ...query, start }, collection);
    assert.ok(resources.length > 0 || last === undefined);
    ids.push(...idsIn(resources));
    start = last;
  }
  return ids;
}

let turn = 0;

/** Does all of these side by side; a short run one in turn. Three of them meet both directions of a query. */
export async function eachInTurn(...parts: readonly (() => Promise<void>)[]): Promise<void> {
  const first = turn++ % parts.length;
  const here = isShort ? parts.slice(first, first + 1) : parts;
  await Promise.all(here.map((part) => part()));
}

/** That a query finds these and no others, as a whole and in pages of either kind. The reads run side by side. */
export async function assertFinds(
  store: Store,
  expected: readonly string[],
  more: Partial<Query>,
  { collection = "things", limits = [2], text = "" }: FindOptions = {},
): Promise<void> {
  const query = ask(more);
  const whole = await answerTo(store, query, collection);
  assert.deepEqual(idsIn(whole.resources), expected, text);
  assert.equal(whole.total, expected.length, text);
  assert.equal(whole.last, undefined, text);
  // An index that is complete meanwhile has moved the version.
  const now = await store.collection(collection);
  const { version } = whole.collection;
  assert.deepEqual(whole.collection, now && { ...now, version });
  const end = expected.length;
  // The pages below begin with the first, so that `npm test` counts at one inside and one past the end.
  const starts = isLong ? [0, 1, end, end + 1] : [1, end + 1];
  const inPages = async (limit: number): Promise<void> => {
    const paged = { ...query, limit };
    await eachInTurn(
      async () => assert.deepEqual(await idsByOffset(store, paged, collection), expected, text),
      async () => assert.deepEqual(await idsByPosition(store, paged, collection), expected, text),
      async () => {
        await Promise.all(starts.map((start) => countsIn({ ...paged, start })));
        const found = whole.resources.map(({ id }) => store.find(collection, id));
        assert.deepEqual(whole.resources, await Promise.all(found), text);
      },
    );
  };
  const countsIn = async (query: Query): Promise<void> => {
    const [page, uncounted] = await Promise.all([
      answerTo(store, query, collection),
      answerTo(store, { ...query, isCounted: false }, collection),
    ]);
    assert.equal(page.total, expected.length, text);
    // Without a total fewer resources may be checked.
    const { scan: _, ...rest } = uncounted;
    const { scan: __, ...counted } = page;
    assert.deepEqual(rest, { ...counted, total: undefined });
  };
  await Promise.all(limits.map(inPages));
}

interface FindOptions {
  readonly collection?: string;
  /** The sizes of pages. */
  readonly limits?: readonly number[];
  readonly text?: string;
}
