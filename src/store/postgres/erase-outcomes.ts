// Erases deleted resources from all outcomes that are stored under Idempotency-Keys, in steps that can be stopped.

import { decodeOutcomes, erasedText, isAnyDeleted } from "../core/stored-outcomes.ts";
import type { Change } from "../store.ts";
import { type CollectionRow, findCollectionRows, listCollectionRows } from "./collections.ts";
import { allOrFirstError, column, rows, type Sql } from "./connection.ts";
import { addressesOf } from "./delete-rows.ts";
import type { RunWriter } from "./deleted-parts.ts";
import { resourcesById } from "./row.ts";

const keysPerStep = 200;

interface OutcomesRow {
  readonly owner: string;
  readonly key: string;
  readonly outcomes: string;
}

/** Checks the keys of all parts, step by step. */
export async function eraseOutcomes(run: RunWriter, isStopped: () => boolean): Promise<void> {
  for (const row of await run((connection) => connection.run(listCollectionRows)))
    for (let after: OutcomesRow | undefined; ; ) {
      if (isStopped()) return;
      const last = await run((connection) => connection.run((sql) => eraseSome(sql, row, after)));
      if (!last) break;
      after = last;
    }
}

/** Checks some of the keys of a part, and returns the last one; undefined when there are no more. */
async function eraseSome(
  sql: Sql,
  row: CollectionRow,
  after: OutcomesRow | undefined,
): Promise<OutcomesRow | undefined> {
  const keys = await readKeys(sql, row.part, after);
  const resourcesOf = ({ outcomes }: OutcomesRow) => decodeOutcomes(outcomes)?.resources ?? [];
  const created = await readCreationTimes(sql, keys.flatMap(resourcesOf));
  const erased = keys.filter((key) =>
    isAnyDeleted(resourcesOf(key), (collection, id) => created.get(`${collection}/${id}`)),
  );
  if (erased.length > 0) await erase(sql, row.part, erased);
  return keys.length === keysPerStep ? keys.at(-1) : undefined;
}

async function readKeys(
  sql: Sql,
  part: number,
  after: OutcomesRow | undefined,
): Promise<readonly OutcomesRow[]> {
  const { owner, key } = after ?? { owner: "", key: "" };
  const found = await rows<readonly [string, string, string]>(sql`
    SELECT owner, key, outcomes FROM idempotency_keys
    WHERE part = ${part}::bigint AND (owner, key) > (${owner}, ${key})
      AND outcomes <> ${erasedText}
    ORDER BY owner, key LIMIT ${keysPerStep}::bigint`);
  return found.map(([owner, key, outcomes]) => ({ owner, key, outcomes }));
}

/** Returns the creation times of the resources that exist, by collection and id. */
async function readCreationTimes(
  sql: Sql,
  resources: readonly { readonly collection: string; readonly id: string }[],
): Promise<ReadonlyMap<string, number>> {
  const byCollection = Map.groupBy(resources, ({ collection }) => collection);
  const collections = await findCollectionRows(sql, [...byCollection.keys()]);
  const found = await allOrFirstError(
    collections.map(async (row) => {
      if (!row) return [];
      const { name, part } = row;
      const wanted = byCollection.get(name) ?? [];
      const times = await rows<readonly [string, number]>(sql`
        SELECT found.id, found.created
        FROM (${resourcesById(sql, part, column(wanted, "id"))}) AS found`);
      return times.map(([id, created]) => [`${name}/${id}`, created] as const);
    }),
  );
  return new Map(found.flat());
}

/** The outcomes are compared, because a key that has expired can be used again at any time. */
function erase(sql: Sql, part: number, keys: readonly OutcomesRow[]): Promise<unknown> {
  const addresses = addressesOf(sql, part, "idempotency_keys", {
    owner: sql`${column(keys, "owner")}::text[]`,
    key: sql`${column(keys, "key")}::text[]`,
  });
  return rows(sql`
    UPDATE idempotency_keys SET outcomes = ${erasedText}
    WHERE part + 0 = ${part}::bigint AND ctid = ANY (ARRAY(${addresses}))
      AND outcomes = ANY (${column(keys, "outcomes")}::text[])`);
}

export const deletesContent = (change: Change): boolean =>
  change.kind === "remove" ||
  change.kind === "drop" ||
  (change.kind === "all" && change.changes.some(deletesContent));
