// Computes the derived rows of a part again: index entries, words, file references, positions and counts.

import { noPartWrites, noWrites } from "../core/writes.ts";
import { type LoadedRows, PartLoader } from "../transfer/part-loader.ts";
import { type ResourceCounts, rebuiltCollection } from "../transfer/rebuilt.ts";
import { derivedTableNames } from "../transfer/source-tables.ts";
import type { Rebuilder, SourceCollection } from "../transfer/transfer.ts";
import { allOrFirstError, Connection, rows, type Sql } from "./connection.ts";
import { readCollections, readRows } from "./snapshot.ts";
import { begin, commit, withRollback } from "./transaction.ts";
import { sendWrites } from "./writes.ts";

/** Writers of the same collection wait while its rows are written. */
export async function openRebuilder(url: string, schema = "restante"): Promise<Rebuilder> {
  const connection = await Connection.open({ url, schema, deadlineMs: 0 });
  return {
    rebuild: (part) => withRollback(connection, () => rebuild(connection, part)),
    close: () => connection.close(),
  };
}

async function rebuild(connection: Connection, part: number): Promise<void> {
  const collection = await connection.run((sql) => lockPart(sql, part));
  const { head } = collection;
  const load = new PartLoader(collection);
  for await (const step of readRows(connection, part, "resources")) {
    const { writes, tree } = load.add("resources", step);
    await connection.run((sql) => allOrFirstError(send(sql, { writes, tree })));
  }
  const last = { writes: noPartWrites(part, head, false), tree: load.finish() };
  const changed = { ...collection, createdAt: undefined, build: load.build, isDefined: true };
  await commit(connection, (sql) => send(sql, last, [changed]));
}

const send = (
  sql: Sql,
  { writes, tree }: Pick<LoadedRows, "writes" | "tree">,
  collections: Parameters<typeof sendWrites>[1]["collections"] = [],
): readonly Promise<unknown>[] =>
  sendWrites(
    sql,
    { ...noWrites, collections, parts: [{ ...writes, inserted: [] }] },
    new Map([[writes.part, tree]]),
  );

/** Every write needs the lock of the head. */
async function lockPart(sql: Sql, part: number): Promise<SourceCollection> {
  await begin(sql);
  await rows(sql`SELECT part FROM heads WHERE part = ${part}::bigint FOR UPDATE`);
  const collections = await readCollections(sql);
  const [counts = [0, 0, 0, 0]] = await rows<ResourceCounts>(sql`
    SELECT count(*)::bigint, coalesce(sum(octet_length(fields)), 0)::bigint,
      coalesce(max(seq), 0)::bigint, coalesce(max(revision), 0)::bigint
    FROM resources WHERE part = ${part}::bigint`);
  for (const table of derivedTableNames)
    await rows(sql`DELETE FROM ${sql(table)} WHERE part = ${part}::bigint`);
  return rebuiltCollection(collections, part, counts);
}
