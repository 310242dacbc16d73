// Writes and definitions, after each of which the stored index entries are those of the resources.

import assert from "node:assert/strict";
import { entriesOf, indexPlanOf } from "../../src/model/query/index-plan.ts";
import type { Change, Store } from "../../src/store/store.ts";
import { all, create, define, idsFrom, remove } from "./contract/change-helpers.ts";
import { putJson } from "./contract/query-helpers.ts";

/** Reads all entries of a database, as `[field, key]`, in the order of its index. */
type ReadEntries = () => Promise<readonly (readonly [field: string, key: string])[]>;

const schema = {
  properties: { s: { type: "string" }, n: { type: "number" }, at: { type: "string" } },
};
const dated = { properties: { ...schema.properties, at: { type: "string", format: "date" } } };

const row = (id: string, s: unknown, n: unknown) =>
  putJson(id, { s, n, at: "2026-01-02", lines: [{ sku: s }, { sku: id }, { sku: id }] });

/** Each takes the place of the one before it. */
const definitions: readonly object[] = [
  { schema, indexed: ["s"] },
  { schema, indexed: [["s", "-n"], "n"] },
  { schema, indexed: ["n", ["s", "-n"], ["-s", "n", "-createdAt", "id"]] },
  { schema: dated, indexed: [["at", "n"], ["s", "-n"], "lines[].sku"], unique: [["s", "n"]] },
  { schema, indexed: [["at", "n"]], unique: ["id"], access: { read: "owner" } },
  {},
];

const changes: readonly (readonly Change[])[] = [
  [row("a", "x", 1), row("b", "x", 2), row("c", null, 2), row("d", "\0\u0001\u{1d11e}", -1)],
  [row("a", "x", 3), remove("b"), row("b", "y", null)],
  [all([row("e", "z".repeat(500), 1), row("f", "中".repeat(500), 1)]), row("a", "x", 3)],
  [remove("c"), row("c", "w", 1), remove("c"), row("a", "v", 4)],
];

/** Runs the whole script; `read` sees what the store has written. */
export async function assertEntriesFollow(store: Store, read: ReadEntries): Promise<void> {
  const assertSame = async (definition: object) => {
    const plan = indexPlanOf(JSON.stringify(definition));
    const slice = await store.slice("things", { offset: 0, limit: 1_000, order: "created" });
    const expected = (slice?.resources ?? []).flatMap((resource) => entriesOf(plan, resource));
    const stored = await read();
    assert.deepEqual(
      stored.map((entry) => entry.join(" ")).sort(),
      expected.map(({ field, key }) => `${field} ${key}`).sort(),
    );
    const keys = stored.map((entry) => Buffer.from(entry.join("\0")));
    assert.deepEqual(keys, keys.toSorted(Buffer.compare));
  };
  await followDefinitions(store, assertSame);
}

/** Calls the function after each definition and each change. */
export async function followDefinitions(
  store: Store,
  assertSame: (definition: object) => Promise<void>,
): Promise<void> {
  await store.commit([create(), ...idsFrom(20, "old").map((id, n) => row(id, `s${n % 3}`, n))]);
  for (const definition of definitions) {
    const [outcome] = await store.commit([define(JSON.stringify(definition))]);
    assert.equal(outcome?.kind, "done");
    await assertSame(definition);
    for (const each of changes) {
      await store.commit(each);
      await assertSame(definition);
    }
  }
}
