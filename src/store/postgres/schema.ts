// Creates the tables, and migrates databases of older versions step by step.

import { setTimeout as sleep } from "node:timers/promises";
import { version as restante } from "../../lib/program.ts";
import { Outage } from "../../model/outage.ts";
import { oldestVersion, otherVersion, type SchemaRange, type WrittenBy } from "../version.ts";
import { type Connection, rows, type Sql } from "./connection.ts";
import { isConnectionLost, isMissingTable } from "./errors.ts";
import { notifyNodes } from "./listener.ts";
import { createTables } from "./tables.ts";

/**
 * The version of the tables. Until the first release a change of the tables adds one to it and needs no
 * migration: older databases are refused. From then on it also adds a step
 * (docs/decisions/0051-a-migration-changes-a-copy.md).
 */
export const schemaVersion = 21;

/** Where the progress of a long migration is reported. */
export type ReportProgress = (message: string) => void;

/**
 * A step runs in one transaction with the update of the version. A function runs in as many transactions
 * as it needs: it returns whether it is done.
 */
export type MigrationStep = string | ((sql: Sql, report: ReportProgress) => Promise<boolean>);

/** Each leads to the next version, the last one to the newest. */
export const migrationSteps: readonly MigrationStep[] = [];

export const schemaRange = (steps: readonly MigrationStep[] = migrationSteps): SchemaRange => ({
  newest: schemaVersion,
  oldest: schemaVersion - steps.length,
});

/**
 * Creates the tables, or migrates them to the newest version. When many nodes start at once, one runs each
 * step while the others wait for the lock on the table of the version. Not every Postgres-compatible server
 * has advisory locks. Rejects, and changes nothing, when no step begins with the version.
 */
export async function migrate(
  connection: Connection,
  schema: string,
  steps: readonly MigrationStep[],
  report: ReportProgress = () => undefined,
): Promise<void> {
  await connection.run((sql) => createOnce(sql, schema));
  while ((await connection.run(readWrittenBy)).schema !== schemaVersion) {
    await connection.run((sql) => runStep(sql, steps, report));
    // Nodes of older versions look at the version then (see schema-guard.ts).
    await connection.run((sql) => notifyNodes(sql, schema));
  }
}

const maxAttempts = 10;

/** When two nodes create the same table at once, one fails, and finds it in its next attempt. */
async function createOnce(sql: Sql, schema: string): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await createMissing(sql, schema);
    } catch (error) {
      if (isConnectionLost(error) || attempt === maxAttempts) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
}

async function createMissing(sql: Sql, schema: string): Promise<void> {
  const [found = []] = await rows(sql`
    SELECT to_regclass(${`${schema}.schema_version`})::text,
      to_regclass(${`${schema}.collections`})::text, to_regnamespace(${schema})::text`);
  const [versionTable, collections, namespace] = found;
  if (versionTable) return;
  if (collections)
    throw new Outage(
      "unavailable",
      `the schema ${schema} has tables without a version: start with a new database, or export the data with the version that wrote it`,
    );
  // Only when it is missing: a user without the right to create schemas can use an existing one.
  const makeSchema = namespace ? "" : `CREATE SCHEMA ${schema};`;
  await transact(sql, () =>
    run(
      sql,
      `${makeSchema}
       CREATE TABLE schema_version (
         one boolean PRIMARY KEY CHECK (one), version integer NOT NULL,
         restante text NOT NULL, oldest text NOT NULL
       );
       INSERT INTO schema_version VALUES (true, ${schemaVersion}, '${restante}', '${oldestVersion}');
       ${createTables}`,
    ),
  );
}

/** Runs the next step or a part of it, unless another node has done it in the meantime. */
async function runStep(
  sql: Sql,
  steps: readonly MigrationStep[],
  report: ReportProgress,
): Promise<void> {
  await transact(sql, async () => {
    await sql`LOCK TABLE schema_version IN SHARE ROW EXCLUSIVE MODE`;
    const found = await readWrittenBy(sql);
    if (found.schema === schemaVersion) return;
    const range = schemaRange(steps);
    const next = steps[found.schema - range.oldest];
    if (next === undefined) throw otherVersion(found, range);
    if (typeof next !== "string" && !(await next(sql, report))) return;
    if (typeof next === "string") await run(sql, next);
    const version = found.schema + 1;
    await sql`UPDATE schema_version SET version = ${version}`;
    if (version === schemaVersion)
      await sql`UPDATE schema_version SET restante = ${restante}, oldest = ${oldestVersion}`;
  });
}

/** Also of a database that is newer, or too old. One that is too old can have no names of versions. */
export async function readWrittenBy(sql: Sql): Promise<WrittenBy> {
  try {
    const [row = []] = await rows(sql`SELECT to_jsonb(schema_version)::text FROM schema_version`);
    const { version, restante, oldest } = JSON.parse(String(row[0]));
    return { schema: version, restante, oldest };
  } catch (error) {
    if (isMissingTable(error)) return { schema: 0 };
    throw error;
  }
}

async function transact(sql: Sql, work: () => Promise<void>): Promise<void> {
  await sql`BEGIN`;
  try {
    await work();
  } catch (error) {
    if (!isConnectionLost(error)) await sql`ROLLBACK`;
    throw error;
  }
  await sql`COMMIT`;
}

async function run(sql: Sql, statements: string): Promise<void> {
  await sql.unsafe(statements).simple();
}
