// Looks at the database from a connection of its own: versions, times, and settings that endanger data.

import { withoutHead, withoutName } from "../transfer/strays.ts";
import type { Concern, Examination, Examiner } from "../transfer/transfer.ts";
import { Connection, rows, type Sql } from "./connection.ts";
import { readWrittenBy, schemaRange, schemaVersion } from "./schema.ts";

export const postgresExaminer = (url: string, schema = "restante"): Examiner => {
  const within = async <T>(act: (sql: Sql) => Promise<T>): Promise<T> => {
    const connection = await Connection.open({ url, schema, deadlineMs: 0 });
    try {
      return await connection.run(act);
    } finally {
      await connection.close();
    }
  };
  return { examine: () => within(examine), checkIntegrity: () => within(invalidIndexes) };
};

async function examine(sql: Sql): Promise<Examination> {
  const [settings = []] = await rows<readonly string[]>(sql`
    SELECT current_setting('server_version'), coalesce(current_setting('data_checksums', true), ''),
      coalesce(current_setting('fsync', true), ''),
      coalesce(current_setting('full_page_writes', true), '')`);
  const [server = "", checksums = "", ...safety] = settings;
  const writtenBy = await readWrittenBy(sql);
  const isNewest = writtenBy.schema === schemaVersion;
  const pages = checksums === "on" ? "with" : "without";
  return {
    writtenBy,
    supported: schemaRange(),
    bytes: 0,
    engine: `PostgreSQL ${server} ${pages} data checksums`,
    newestAt: isNewest ? await newestTime(sql) : 0,
    concerns: [...unsafe(safety), ...(isNewest ? await strays(sql) : [])],
  };
}

async function newestTime(sql: Sql): Promise<number> {
  const [row] = await rows<readonly [number | null]>(sql`SELECT max(updated)::bigint FROM heads`);
  return row?.[0] ?? 0;
}

const unsafe = (settings: readonly string[]): readonly Concern[] =>
  ["fsync", "full_page_writes"]
    .filter((_, index) => settings[index] === "off")
    .map((name) => ({
      isError: false,
      message: `The Postgres server runs with ${name} = off: a crash of its machine can destroy the database.`,
      advice: `Set ${name} = on in its configuration, and reload it.`,
    }));

async function strays(sql: Sql): Promise<readonly Concern[]> {
  const headless = await rows<readonly [string]>(sql`
    SELECT name FROM collections LEFT JOIN heads USING (part) WHERE heads.part IS NULL
    ORDER BY name LIMIT 10`);
  const nameless = await rows<readonly [number]>(sql`
    SELECT part FROM heads LEFT JOIN collections USING (part) WHERE name IS NULL
    ORDER BY part LIMIT 10`);
  return [
    ...headless.map(([name]) => withoutHead(name)),
    ...nameless.map(([part]) => withoutName(part)),
  ];
}

/** Of a build that failed. Postgres checks pages by itself when it reads them. */
async function invalidIndexes(sql: Sql): Promise<readonly string[]> {
  const found = await rows<readonly [string]>(sql`
    SELECT relname::text FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON oid = indexrelid
    WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace ORDER BY relname`);
  return found.map(([name]) => `the index ${name} is not valid: run REINDEX INDEX ${name}`);
}
