// Helpers for the contract tests: changes and their outcomes.

import assert from "node:assert/strict";
import type { Feed } from "../../../src/model/feed.ts";
import type { IdempotencyKey } from "../../../src/model/idempotency-key.ts";
import type { Order } from "../../../src/model/query/list-request.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Token } from "../../../src/model/token.ts";
import type {
  Change,
  Expectation,
  Operate,
  Outcome,
  Put,
  Remove,
  ResourceChange,
  Store,
} from "../../../src/store/store.ts";

export const create = (collection = "things", at = 1): Change => ({
  kind: "create-collection",
  collection,
  at,
});

export const put = (
  id: string,
  {
    expect = "anything",
    fields = `{"of":"${id}"}`,
    at = 10,
    collection = "things",
  }: PutOptions = {},
): Put => ({ kind: "put", collection, id, fields, at, expect });

interface PutOptions {
  readonly expect?: Expectation;
  readonly fields?: string;
  readonly at?: number;
  readonly collection?: string;
}

export const remove = (
  id: string,
  expect: Exclude<Expectation, "nothing"> = "anything",
  collection = "things",
): Remove => ({ kind: "remove", collection, id, at: 20, expect });

export const operate = (id: string, operations: object, more: Partial<Operate> = {}): Operate => ({
  kind: "operate",
  collection: "things",
  id,
  operations: JSON.stringify(operations),
  at: 40,
  expect: "anything",
  isAdmin: true,
  address: `/things/${id}`,
  maxBytes: 1_000_000,
  bytes: 100,
  ...more,
});

export const all = (changes: readonly ResourceChange[], once?: IdempotencyKey): Change =>
  once ? { kind: "all", changes, once } : { kind: "all", changes };

export const once = (key: string, more: Partial<IdempotencyKey> = {}): IdempotencyKey => ({
  owner: "somebody",
  key,
  fingerprint: "a request",
  at: 100,
  expiresAt: 1_000,
  ...more,
});

export const define = (definition: string, collection = "things", at = 30) =>
  ({ kind: "define", collection, definition, at }) satisfies Change;

export const kinds = (outcomes: readonly Outcome[]): readonly string[] =>
  outcomes.map(({ kind }) => kind);

/** The resource in the outcome. */
export function written(outcome: Outcome | undefined): Resource {
  assert.ok(outcome?.kind === "created" || outcome?.kind === "replaced", `not ${outcome?.kind}`);
  return outcome.resource;
}

export function revisionOf(outcome: Outcome | undefined): number {
  return outcome?.kind === "removed" ? outcome.revision : written(outcome).revision;
}

/** The outcomes of a unit that was done, now or when it came first. */
export function doneIn(outcome: Outcome | undefined, isReplay = false): readonly Outcome[] {
  assert.ok(outcome?.kind === "all", `not ${outcome?.kind}`);
  assert.equal(outcome.isReplay, isReplay);
  return outcome.outcomes;
}

export const idsFrom = (count: number, prefix = "id"): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export async function idsOf(store: Store, offset = 0, limit = 100_000, order: Order = "created") {
  const slice = await store.slice("things", { offset, limit, order });
  return slice?.resources.map(({ id }) => id);
}

export async function totalOf(store: Store): Promise<number | undefined> {
  return (await store.collection("things"))?.total;
}

/** What changed after a revision of the history that the collection has now. */
export async function feedSince(
  store: Store,
  revision: number,
  limit: number,
  collection = "things",
): Promise<Feed | undefined> {
  const start = await store.since(collection, 0, { limit: revision === 0 ? limit : 1 });
  assert.ok(typeof start !== "string");
  if (start === undefined || revision === 0) return start;
  const feed = await store.since(collection, { epoch: start.epoch, revision, time: 0 }, { limit });
  assert.ok(typeof feed === "object");
  return feed;
}

/** All that can be read of a collection, to compare it before and after. */
export async function lookAt(store: Store, collection = "things"): Promise<unknown> {
  return {
    collection: await store.collection(collection),
    slice: await store.slice(collection, { offset: 0, limit: 100_000, order: "created" }),
    entries: (await feedSince(store, 0, 100_000, collection))?.entries,
  };
}

export const token = (id: string, more: Partial<Token> = {}): Token => ({
  id,
  hash: `hash of ${id}`,
  name: `name of ${id}`,
  subject: `subject of ${id}`,
  scopes: ["admin", "things:read"],
  roles: ["editor"],
  createdAt: 5,
  expiresAt: null,
  usedAt: null,
  revokedAt: null,
  ...more,
});
