// Copies a database with the former layout, one set of tables per collection, to a new file.

import { setImmediate } from "node:timers/promises";
import { Outage } from "../../model/outage.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import { Connection } from "./connection.ts";
import { copyOld } from "./copy-old.ts";
import { createFile, type DatabaseFile } from "./file.ts";
import { assertFreeSpace, migratedSize, untouched } from "./free-space.ts";
import { readOldCollections } from "./old-collections.ts";
import { upgradeOld } from "./old-schema.ts";
import { createTables } from "./schema.ts";

/** Reads all of one transaction, which brings the old tables to their last version and is undone. */
export async function copyOldLayout(
  file: DatabaseFile,
  report: (what: string, done: number) => void,
): Promise<void> {
  const source = new Connection(file.path, "write");
  try {
    source.run("BEGIN IMMEDIATE");
    upgradeOld(source);
    assertFreeSpace(file, expectedSize(source), untouched);
    report("migrating the database to a new layout", 0);
    await copy(source, file.copy, report);
  } finally {
    source.close();
  }
}

function expectedSize(source: Connection): number {
  const searched = readOldCollections(source)
    .filter(({ definition }) => indexPlanOf(definition).searchable.length > 0)
    .map(({ part }) => {
      const size = source.query<readonly [number]>(
        `SELECT coalesce(sum(octet_length(fields)), 0) FROM resources_${part}`,
      );
      return size.one()?.[0] ?? 0;
    });
  return migratedSize(
    source,
    searched.reduce((sum, bytes) => sum + bytes, 0),
  );
}

/** Throws when acknowledged writes are missing after the disk has failed. */
export function assertOldComplete(source: Connection, acknowledged: number): void {
  const [batch = 0] = source.query<readonly [number]>("SELECT batch FROM ledger").one() ?? [];
  if (batch < acknowledged)
    throw new Outage(
      "suspect",
      `acknowledged writes are missing: the last one was ${acknowledged}, and the files end at ${batch}. Restore a backup; or accept the loss by deleting restante.suspect and starting again`,
    );
}

async function copy(
  source: Connection,
  path: string,
  report: (what: string, done: number) => void,
): Promise<void> {
  createFile(path);
  const target = new Connection(path, "fill");
  try {
    createTables(target);
    for (const done of copyOld(source, target)) {
      report("migrating the database to a new layout", done);
      await setImmediate();
    }
  } finally {
    target.close();
  }
}
