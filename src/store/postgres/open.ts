// Checks the servers, and migrates the tables, before a store is opened.

import { Connection, type ConnectionOptions, type Row, rows, type Sql } from "./connection.ts";
import { messageOf } from "./errors.ts";
import { assertSchemaName, type PostgresSettings } from "./options.ts";
import { migrate, migrationSteps, type ReportProgress } from "./schema.ts";
import { begin } from "./transaction.ts";

export async function prepareServers(settings: PostgresSettings): Promise<void> {
  assertSchemaName(settings.schema);
  await prepare({ ...settings, deadlineMs: 0 }, settings.onProgress);
  const { readUrl } = settings;
  if (readUrl === undefined) return;
  await withConnection({ ...settings, url: readUrl }, assertOwnSession);
  await assertReplica(settings, readUrl);
}

export const cannotOpen = ({ url }: PostgresSettings, cause: unknown): Error =>
  new Error(`Cannot open ${withoutSecrets(url)}: ${messageOf(cause)}`, { cause });

/** Has no deadline: while one node creates the tables, the others wait. */
export async function prepare(
  options: ConnectionOptions,
  onProgress: ReportProgress,
): Promise<void> {
  await withConnection(options, async (connection) => {
    await connection.run(assertDurable);
    await assertOwnSession(connection, options);
    await migrate(connection, options.schema, migrationSteps, everySecond(onProgress));
  });
}

function everySecond(report: ReportProgress): ReportProgress {
  let nextAt = 0;
  return (message) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + 1_000;
    report(message);
  };
}

/** Acknowledged commits must be on disk, so a server without fsync is rejected. */
async function assertDurable(sql: Sql): Promise<void> {
  const [row] = await rows(sql`SELECT current_setting('fsync', true)`);
  if (row?.[0] === "off")
    throw new Error("the server runs with fsync = off and can lose committed data: set fsync = on");
}

/** Without synchronous_standby_names a commit would not wait for the replica, and reads would lag behind. */
async function assertReplica(settings: ConnectionOptions, readUrl: string): Promise<void> {
  const isStandby = await readOne({ ...settings, url: readUrl }, (sql) =>
    rows(sql`SELECT pg_is_in_recovery()::text`),
  );
  if (isStandby !== "true") throw new Error(`${withoutSecrets(readUrl)} is not a replica`);
  const names = await readOne(settings, (sql) =>
    rows(sql`SELECT current_setting('synchronous_standby_names', true)`),
  );
  if (!names)
    throw new Error(
      "reads from a replica need synchronous_standby_names on the server, or they would lag behind",
    );
}

/**
 * A pooler that gives a session to another client after each transaction loses our settings, also the one
 * that makes commits durable. With few clients it does so unnoticed, because the sessions happen to be the same.
 */
async function assertOwnSession(first: Connection, options: ConnectionOptions): Promise<void> {
  const isShared = await withConnection(options, async (second) => {
    await second.run(begin);
    const pids = [await second.run(readPid), await first.run(readPid), await first.run(readPid)];
    return pids.join() !== [second.pid, first.pid, first.pid].join() || second.pid === first.pid;
  });
  if (isShared)
    throw new Error(
      "a pooler gives its sessions to other clients after each transaction: let it pool by session (pool_mode = session), or connect without it",
    );
}

async function readPid(sql: Sql): Promise<Row[number] | undefined> {
  const [row] = await rows(sql`SELECT pg_backend_pid()`);
  return row?.[0];
}

const readOne = (
  options: ConnectionOptions,
  load: (sql: Sql) => Promise<readonly Row[]>,
): Promise<Row[number] | undefined> =>
  withConnection(options, async (connection) => (await connection.run(load))[0]?.[0]);

async function withConnection<T>(
  options: ConnectionOptions,
  work: (connection: Connection, options: ConnectionOptions) => Promise<T>,
): Promise<T> {
  const connection = await Connection.open(options);
  try {
    return await work(connection, options);
  } finally {
    await connection.close();
  }
}

function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
