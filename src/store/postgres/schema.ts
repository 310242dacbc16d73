// Creates the tables, and migrates databases of older versions step by step.

import { setTimeout as sleep } from "node:timers/promises";
import { version as restante } from "../../lib/program.ts";
import { newerDatabase, oldestVersion, type WrittenBy } from "../version.ts";
import { type Connection, rows, type Sql } from "./connection.ts";
import { isConnectionLost, isMissingTable } from "./errors.ts";
import { notifyNodes } from "./listener.ts";
import { oldSteps } from "./old-schema.ts";
import type { MigrationStep, ReportProgress } from "./step.ts";
import { createTables } from "./tables.ts";
import { upgradeSteps } from "./upgrade.ts";

const maxAttempts = 10;

export interface Migration {
  /** Creates the tables of the newest version in an empty schema. Without it, all steps are run. */
  readonly create?: string | undefined;
  readonly steps: readonly MigrationStep[];
}

export const migration: Migration = { create: createTables, steps: [...oldSteps, ...upgradeSteps] };

/**
 * Migrates the database to the newest version. When many nodes start at once, one runs each step while
 * the others wait for the lock on the table of the version. Not every Postgres-compatible server has
 * advisory locks.
 */
export async function migrate(
  connection: Connection,
  schema: string,
  { create, steps }: Migration,
  report: ReportProgress = () => undefined,
): Promise<void> {
  await connection.run((sql) => retry(() => ensureVersion(sql, schema, { create, steps })));
  while ((await connection.run((sql) => retry(() => readVersion(sql, schema)))) !== steps.length) {
    await connection.run((sql) => retry(() => runStep(sql, schema, steps, report), isMissingTable));
    // Nodes of older versions look at the version then (see schema-guard.ts).
    await connection.run((sql) => notifyNodes(sql, schema));
  }
}

/** When two nodes create or rename the same table at once, one fails, and finds it in its next attempt. */
async function retry<T>(
  work: () => Promise<T>,
  canRetry: (error: unknown) => boolean = () => true,
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      if (isConnectionLost(error) || attempt === maxAttempts || !canRetry(error)) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
}

/** Returns the table of the version: up to version 6 it has another name. */
async function versionTable(sql: Sql, schema: string): Promise<string | undefined> {
  const [found] = await rows<readonly [string | null, string | null]>(sql`
    SELECT to_regclass(${`${schema}.schema_version`})::text, to_regclass(${`${schema}.form`})::text`);
  if (found?.[0]) return "schema_version";
  return found?.[1] ? "form" : undefined;
}

async function ensureVersion(
  sql: Sql,
  schema: string,
  { create, steps }: Migration,
): Promise<void> {
  if (await versionTable(sql, schema)) return;
  const [found] = await rows(sql`SELECT to_regnamespace(${schema})::text`);
  // Only when it is missing: a user without the right to create schemas can use an existing one.
  const makeSchema = found?.[0] ? "" : `CREATE SCHEMA ${schema};`;
  const version = create === undefined ? 0 : steps.length;
  await transact(sql, () =>
    run(
      sql,
      `${makeSchema}
       CREATE TABLE schema_version (
         one boolean PRIMARY KEY CHECK (one), version integer NOT NULL, restante text, oldest text
       );
       INSERT INTO schema_version VALUES (true, ${version}, '${restante}', '${oldestVersion}');
       ${create ?? ""}`,
    ),
  );
}

async function readVersion(sql: Sql, schema: string): Promise<number> {
  const versions = (await versionTable(sql, schema)) ?? "schema_version";
  const [row] = await rows<readonly [number]>(sql`SELECT version FROM ${sql(versions)}`);
  return row?.[0] ?? 0;
}

/** Runs the next step or a part of it, unless another node has done it in the meantime. */
async function runStep(
  sql: Sql,
  schema: string,
  steps: readonly MigrationStep[],
  report: ReportProgress,
): Promise<void> {
  const versions = (await versionTable(sql, schema)) ?? "schema_version";
  await transact(sql, async () => {
    await sql`LOCK TABLE ${sql(versions)} IN SHARE ROW EXCLUSIVE MODE`;
    const [row] = await rows<readonly [number]>(sql`SELECT version FROM ${sql(versions)}`);
    const version = row?.[0] ?? 0;
    const next = steps[version];
    if (version > steps.length) throw newerDatabase(await readWrittenBy(sql), steps.length);
    if (next === undefined) return;
    if (typeof next !== "string" && !(await next(sql, report))) return;
    if (typeof next === "string") await run(sql, next);
    const renamed = (await versionTable(sql, schema)) ?? versions;
    await sql`UPDATE ${sql(renamed)} SET version = ${version + 1}`;
    if (version + 1 === steps.length)
      await sql`UPDATE ${sql(renamed)} SET restante = ${restante}, oldest = ${oldestVersion}`;
  });
}

/** Of a database that has the newest tables, or newer ones. */
export async function readWrittenBy(sql: Sql): Promise<WrittenBy> {
  const [row] = await rows<readonly [number, string | null, string | null]>(
    sql`SELECT version, restante, oldest FROM schema_version`,
  );
  return { schema: row?.[0] ?? 0, restante: row?.[1] ?? undefined, oldest: row?.[2] ?? undefined };
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
