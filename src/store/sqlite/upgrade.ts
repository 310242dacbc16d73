// Brings the tables of a copy of a database to the newest version, step by step.

import type { Connection } from "./connection.ts";
import { finishWords, rebuildWords } from "./old-words.ts";
import {
  builds,
  fileColumns,
  filesByOwner,
  firstVersion,
  formerOwners,
  formerStates,
  referrers,
  resourceIndexes,
  roles,
  setVersion,
  versionOf,
  writtenBy,
} from "./schema.ts";

interface UpgradeStep {
  /** Long work in several transactions. It yields how much is done. */
  readonly prepare?: (connection: Connection) => Generator<number>;
  /** These run in one transaction with the update of the version. */
  readonly statements: readonly string[];
}

/** Sets the sizes of the parts, which every write maintains. */
export const countBytes = `
  UPDATE heads SET bytes = (
    SELECT coalesce(sum(octet_length(fields)), 0) FROM resources WHERE part = heads.part
  )`;

/** Sets the owners and sizes of files, which every write maintains. */
const sizeFiles = `
  UPDATE files SET owner = held.owner, bytes = coalesce(held.bytes, 0)
  FROM (
    SELECT part, resources.owner, file.value ->> 'key' AS key, file.value ->> 'size' AS bytes
    FROM resources, json_each(iif(json_valid(resources.files), resources.files, '[]')) AS file
    WHERE resources.files IS NOT NULL
  ) AS held
  WHERE files.part = held.part AND files.key = held.key`;

/** The first one brings a database from `firstVersion` to the next one. */
const steps: readonly UpgradeStep[] = [
  {
    statements: [
      `ALTER TABLE heads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE heads ADD COLUMN purged INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE tombstones ADD COLUMN owner TEXT;
     ${formerOwners}
     ${builds}`,
      ...resourceIndexes,
      countBytes,
    ],
  },
  { prepare: rebuildWords, statements: [finishWords] },
  { statements: [`ALTER TABLE collections ADD COLUMN ${referrers}`] },
  { statements: [`ALTER TABLE tokens ADD COLUMN ${roles}`] },
  { statements: [formerStates] },
  { statements: [writtenBy] },
  {
    statements: [
      ...fileColumns.map((column) => `ALTER TABLE files ADD COLUMN ${column}`),
      sizeFiles,
      filesByOwner,
    ],
  },
];

/** Yields the progress of each step, from 0 to 1, and the version that the step leads to. */
export function* upgradeTables(
  connection: Connection,
): Generator<readonly [version: number, done: number]> {
  const from = versionOf(connection);
  for (const [index, { prepare, statements }] of steps.slice(from - firstVersion).entries()) {
    const version = from + index + 1;
    for (const done of prepare?.(connection) ?? []) yield [version, done];
    for (const [place, statement] of statements.entries()) {
      yield [version, prepare ? 1 : place / statements.length];
      connection.run(statement);
    }
    connection.transact(() => setVersion(connection, version));
  }
}
