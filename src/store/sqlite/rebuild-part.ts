// Computes the derived rows of a part again: index entries, words, file references, positions and counts.

import { noPartWrites } from "../core/writes.ts";
import { type LoadedRows, PartLoader } from "../transfer/part-loader.ts";
import { type ResourceCounts, rebuiltCollection } from "../transfer/rebuilt.ts";
import { derivedTableNames } from "../transfer/source-tables.ts";
import type { Rebuilder, SourceCollection } from "../transfer/transfer.ts";
import { Connection } from "./connection.ts";
import { finishSwap, prepareFile } from "./file.ts";
import { RowWriter } from "./row-writer.ts";
import { requireNewest } from "./schema.ts";
import { readCollections, readRows } from "./snapshot.ts";

/** The caller owns the folder. */
export function openRebuilder(folder: string): Rebuilder {
  const connection = new Connection(finishSwap(prepareFile(folder)).path, "write");
  try {
    requireNewest(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  return {
    rebuild: (part) => rebuild(connection, part),
    close: async () => connection.close(),
  };
}

async function rebuild(connection: Connection, part: number): Promise<void> {
  connection.run("BEGIN IMMEDIATE");
  try {
    const collection = rebuiltCollection(
      readCollections(connection),
      part,
      countResources(connection, part),
    );
    for (const table of derivedTableNames)
      connection.query(`DELETE FROM ${table} WHERE part = ?`).run(part);
    await writeDerived(connection, collection);
    connection.run("UPDATE store SET commits = commits + 1");
    connection.run("COMMIT");
  } catch (error) {
    connection.rollback();
    throw error;
  }
}

function countResources(connection: Connection, part: number): ResourceCounts {
  const counts = connection.query<ResourceCounts>(
    `SELECT count(*), coalesce(sum(octet_length(fields)), 0), coalesce(max(seq), 0),
       coalesce(max(revision), 0)
     FROM resources WHERE part = ?`,
  );
  return counts.one(part) ?? [0, 0, 0, 0];
}

async function writeDerived(connection: Connection, collection: SourceCollection): Promise<void> {
  const { part, head } = collection;
  const rows = new RowWriter(connection);
  const load = new PartLoader(collection);
  const write = ({ writes, tree }: Pick<LoadedRows, "writes" | "tree">) => {
    rows.writePart({ ...writes, inserted: [] });
    for (const row of tree) rows.positions.write(part, row);
  };
  for await (const step of readRows(connection, part, "resources"))
    write(load.add("resources", step));
  write({ writes: noPartWrites(part, head, false), tree: load.finish() });
  const { build } = load;
  rows.saveCollection({ ...collection, createdAt: undefined, build, isDefined: true });
}
