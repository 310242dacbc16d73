// Idempotency-Keys of batches as 0.1.0 stored them: outcomes without their collections, in every order.

import assert from "node:assert/strict";
import type { Change, Put, Remove, Store } from "../../src/store/store.ts";
import { all, doneIn, kinds, once } from "./contract/change-helpers.ts";

/** A resource that the fixture contains. */
export interface OldResource {
  readonly collection: string;
  readonly id: string;
  readonly createdAt: number;
}

export interface OldKey {
  readonly owner: string;
  readonly fingerprint: string;
  readonly key: string;
  readonly outcomes: string;
}

type Member = OldResource | "removed";

const at = 4_000;
const fingerprint = "f";

/** Whose keys: as 0.1.0 stored them, and today. All callers without a token shared theirs. */
const owners = [
  { before: "a token", now: "a token" },
  { before: "", now: `anonymous:${fingerprint}` },
] as const;

const nameOf = (members: readonly Member[]): string =>
  members.map((member) => (member === "removed" ? member : member.collection)).join(" ");

/** All sequences of one to three resources and removals. */
function batchesOf(resources: readonly OldResource[]): readonly (readonly Member[])[] {
  const members: readonly Member[] = [...resources, "removed"];
  const next = (batches: readonly (readonly Member[])[]) =>
    batches.flatMap((batch) => members.map((member) => [...batch, member]));
  const [one, two] = [next([[]]), next(next([[]]))];
  return [...one, ...two, ...next(two)];
}

const outcomeOf = (member: Member): object =>
  member === "removed"
    ? { kind: "removed", revision: 1 }
    : { kind: "created", resource: { ...contentOf(member), revision: 1, fields: "{}" } };

const contentOf = ({ id, createdAt }: OldResource) => ({ id, createdAt, updatedAt: createdAt });

/** The rows for the table of keys. */
export const oldKeysOf = (resources: readonly OldResource[]): readonly OldKey[] =>
  batchesOf(resources).flatMap((members) =>
    owners.map(({ before }) => ({
      ...{ owner: before, key: nameOf(members), fingerprint },
      outcomes: JSON.stringify(members.map(outcomeOf)),
    })),
  );

/** The same batch again, by each owner. */
function repeated(members: readonly Member[], [first]: readonly OldResource[]): readonly Change[] {
  const changes = members.map((member): Put | Remove =>
    member === "removed"
      ? { kind: "remove", collection: first?.collection ?? "", id: "x", at, expect: "anything" }
      : { kind: "put", ...member, fields: "{}", at, expect: "anything" },
  );
  return owners.map(({ now: owner }) =>
    all(changes, once(nameOf(members), { owner, fingerprint, at, expiresAt: at + 1 })),
  );
}

/** Each batch is done only once, until one of its resources is deleted. */
export async function assertRepeatable(
  store: Store,
  resources: readonly OldResource[],
): Promise<void> {
  const batches = batchesOf(resources);
  for (const members of batches) {
    const expected = members.map((member) => (member === "removed" ? "removed" : "created"));
    for (const outcome of await store.commit(repeated(members, resources)))
      assert.deepEqual(kinds(doneIn(outcome, true)), expected, nameOf(members));
  }
  const [deleted] = resources;
  assert.ok(deleted);
  const { collection, id } = deleted;
  await store.commit([{ kind: "remove", collection, id, at, expect: "anything" }]);
  for (const members of batches) {
    const isGone = members.includes(deleted);
    for (const outcome of await store.commit(repeated(members, resources)))
      assert.equal(outcome.kind, isGone ? "gone" : "all", nameOf(members));
  }
}
