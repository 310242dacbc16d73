// Brings the tables of an existing database to the newest version, step by step.

import type { Connection } from "./connection.ts";
import { finishWords, rebuildWords } from "./old-words.ts";
import {
  builds,
  createTables,
  firstVersion,
  formerOwners,
  formerStates,
  olderVersion,
  referrers,
  resourceIndexes,
  roles,
  schemaVersion,
  versionOf,
} from "./schema.ts";

interface Step {
  /** Long work in several transactions. It yields how much is done, and continues after a crash. */
  readonly prepare?: (connection: Connection) => Generator<number>;
  /** These run in one transaction with the update of the version. */
  readonly statements: readonly string[];
}

/** How often the progress of long work is reported. */
const progressMs = 1_000;

/** Sets the sizes of the parts, which every write maintains. */
export const countBytes = `
  UPDATE heads SET bytes = (
    SELECT coalesce(sum(octet_length(fields)), 0) FROM resources WHERE part = heads.part
  )`;

/** The first one brings a database from `firstVersion` to the next one. */
const steps: readonly Step[] = [
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
];

/** Creates the tables of a new database, or upgrades those of an older one. */
export function prepareTables(
  connection: Connection,
  reportProgress: (message: string) => void,
): void {
  for (let version = versionOf(connection); version !== schemaVersion; ) {
    if (version === 0) createTables(connection);
    else upgradeOnce(connection, version, reportProgress);
    version = versionOf(connection);
  }
}

/** After a crash the database has all changes of the step or none. */
function upgradeOnce(
  connection: Connection,
  version: number,
  reportProgress: (message: string) => void,
): void {
  const step = steps[version - firstVersion];
  if (!step) throw olderVersion(version);
  const { prepare, statements } = step;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const report = (fraction: number, intervalMs = 0) => {
    if (performance.now() - reportedAt < intervalMs) return;
    reportedAt = performance.now();
    const percent = Math.floor(100 * fraction);
    reportProgress(`migrating the database to version ${version + 1}: ${percent} %`);
  };
  for (const fraction of prepare?.(connection) ?? []) report(fraction, progressMs);
  connection.transact(() => {
    for (const [index, statement] of statements.entries()) {
      report(prepare ? 1 : index / statements.length);
      connection.run(statement);
    }
    connection.run(`PRAGMA user_version = ${version + 1}`);
  });
}
