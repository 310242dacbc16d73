// Looks at the database from a connection of its own: versions, times, marks of failures, and its integrity.

import { dirname, join } from "node:path";
import { withoutHead, withoutName } from "../transfer/strays.ts";
import type { Concern, Examination, Examiner } from "../transfer/transfer.ts";
import { Connection, isUnfinished, outageOf } from "./connection.ts";
import { markName } from "./file.ts";
import { sizeOf } from "./free-space.ts";
import { isSupportedFile, readWrittenBy, schemaRange, schemaVersion } from "./schema.ts";
import { readSuspectMark } from "./suspect.ts";

/** The examiner of a database that exists. */
export const sqliteExaminer = (path: string): Examiner => ({
  examine: async () =>
    isSupportedFile(path)
      ? within(path, (connection) => examine(connection, path))
      : read(path, "peek", (connection) => examine(connection, path)),
  checkIntegrity: async () => within(path, checkIntegrity),
});

function within<T>(path: string, act: (connection: Connection) => T): T {
  try {
    return read(path, "scan", act);
  } catch (error) {
    if (!isUnfinished(error)) throw error;
    new Connection(path, "write").close();
    return read(path, "scan", act);
  }
}

function read<T>(path: string, access: "scan" | "peek", act: (connection: Connection) => T): T {
  const connection = new Connection(path, access);
  try {
    return act(connection);
  } finally {
    connection.close();
  }
}

function examine(connection: Connection, path: string): Examination {
  const writtenBy = readWrittenBy(connection);
  const [engine = ""] =
    connection.query<readonly [string]>("SELECT 'SQLite ' || sqlite_version()").one() ?? [];
  const isNewest = writtenBy.schema === schemaVersion;
  return {
    engine,
    writtenBy,
    supported: schemaRange(),
    bytes: sizeOf(connection),
    newestAt: isNewest ? newestTime(connection) : 0,
    concerns: [...failures(path), ...(isNewest ? strays(connection) : [])],
  };
}

const newestTime = (connection: Connection): number =>
  connection.query<readonly [number | null]>("SELECT max(updated) FROM heads").one()?.[0] ?? 0;

function failures(path: string): readonly Concern[] {
  const mark = readSuspectMark({ mark: join(dirname(path), markName) });
  if (mark === undefined) return [];
  const since = mark.since === "" ? "" : ` since ${mark.since}`;
  return [
    {
      isError: true,
      message: `The disk has failed${since}: ${mark.reason}.`,
      advice:
        "Check the disk, and start the server: it copies the database to a new file before it writes again.",
    },
  ];
}

/** Collections and heads are written together. */
function strays(connection: Connection): readonly Concern[] {
  const headless = connection.query<readonly [string]>(
    "SELECT name FROM collections WHERE part NOT IN (SELECT part FROM heads) ORDER BY name LIMIT 10",
  );
  const nameless = connection.query<readonly [number]>(
    "SELECT part FROM heads WHERE part NOT IN (SELECT part FROM collections) ORDER BY part LIMIT 10",
  );
  return [
    ...headless.all().map(([name]) => withoutHead(name)),
    ...nameless.all().map(([part]) => withoutName(part)),
  ];
}

/** The most messages to return. */
const maxMessages = 20;

function checkIntegrity(connection: Connection): readonly string[] {
  try {
    const found = connection.query<readonly [string]>(`PRAGMA integrity_check(${maxMessages})`);
    return found
      .all()
      .map(([message]) => message)
      .filter((message) => message !== "ok");
  } catch (error) {
    const outage = outageOf(error);
    if (outage === undefined) throw error;
    return [outage.message];
  }
}
