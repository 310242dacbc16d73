// A Postgres server for the tests of the engine, and a database for each test.

import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import type { PostgresOptions } from "../../../src/store/postgres/options.ts";
import { openPostgres } from "../../../src/store/postgres/postgres.ts";
import type { Store } from "../../../src/store/store.ts";
import { PostgresServer } from "../../postgres-server.ts";

/** A database for one test. */
export interface TestDatabase {
  readonly server: PostgresServer;
  readonly url: string;
  readonly schema: string;
  /** A store on it, as one node has it; closed after the test. */
  open(options?: Partial<PostgresOptions>): Promise<Store>;
  /** Does something in it behind the stores' backs. */
  admin<T>(action: (sql: Sql) => Promise<T>): Promise<T>;
}

/** A test that stops or configures its server needs one of its own. */
type ServerKind = "shared" | "own";

/** One server for all tests of a file, started by the first of them. */
export class TestDatabases {
  readonly #kind: ServerKind;
  #started: Promise<PostgresServer> | undefined;

  constructor(kind: ServerKind = "shared") {
    this.#kind = kind;
    after(async () => (await this.#started)?.close(), { timeout: 600_000 });
  }

  /** Runs a test on a database with the tables of an empty store. */
  async in(test: (testDatabase: TestDatabase) => Promise<void>): Promise<void> {
    const server = await this.#server();
    await inDatabase(server, await server.preparedDatabase(), test);
  }

  /** Runs a test on a database without tables. */
  async inEmpty(test: (testDatabase: TestDatabase) => Promise<void>): Promise<void> {
    const server = await this.#server();
    await inDatabase(server, await server.database(), test);
  }

  #server(): Promise<PostgresServer> {
    this.#started ??= this.#kind === "own" ? PostgresServer.start() : PostgresServer.shared();
    return this.#started;
  }
}

const schema = "restante";

async function inDatabase(
  server: PostgresServer,
  url: string,
  test: (testDatabase: TestDatabase) => Promise<void>,
): Promise<void> {
  const stores: Store[] = [];
  const open = async (options: Partial<PostgresOptions> = {}) => {
    const store = await openPostgres({ url, schema, readers: 2, ...options });
    stores.push(store);
    return store;
  };
  const admin = <T>(action: (sql: Sql) => Promise<T>) =>
    server.admin(async (sql) => {
      await sql`SELECT set_config('search_path', ${schema}, false)`;
      return action(sql);
    }, url);
  try {
    await test({ server, url, schema, open, admin });
  } finally {
    for (const store of stores) await store.close();
  }
  await server.drop(url);
}

/** Looks again and again until it is so. The test's own time limit ends a wait in vain. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(10);
}

/** How many sessions the stores have in it. */
export const sessions = (testDatabase: TestDatabase): Promise<number> =>
  testDatabase.admin(async (sql) => {
    const found = await sql`
      SELECT FROM pg_stat_activity
      WHERE application_name = 'restante' AND datname = current_database()`;
    return found.length;
  });

/** How many of them wait for a lock. */
export const waiting = (testDatabase: TestDatabase): Promise<number> =>
  testDatabase.admin(async (sql) => {
    const found = await sql`
      SELECT FROM pg_stat_activity
      WHERE application_name = 'restante' AND datname = current_database()
        AND wait_event_type = 'Lock'`;
    return found.length;
  });
