// A server for the tests of the Postgres engine, and stores in schemas of their own.

import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "postgres";
import { openPostgres, type PostgresOptions } from "../../../src/store/postgres/postgres.ts";
import type { Store } from "../../../src/store/store.ts";
import { PostgresServer } from "../../postgres-server.ts";

/** A schema for one test. */
export interface Place {
  readonly server: PostgresServer;
  readonly url: string;
  readonly schema: string;
  /** A store on it, as one node has it; closed after the test. */
  open(options?: Partial<PostgresOptions>): Promise<Store>;
  /** Does something in it behind the stores' backs. */
  admin<T>(deed: (sql: Sql) => Promise<T>): Promise<T>;
}

/** One server for all tests of a file, started by the first of them. */
export class Services {
  #started: Promise<{ readonly server: PostgresServer; readonly url: string }> | undefined;
  #schemas = 0;

  constructor() {
    after(async () => (await this.#started)?.server.close(), { timeout: 60_000 });
  }

  async in(test: (place: Place) => Promise<void>): Promise<void> {
    this.#started ??= start();
    const { server, url } = await this.#started;
    const schema = `place_${++this.#schemas}`;
    const stores: Store[] = [];
    const open = async (options: Partial<PostgresOptions> = {}) => {
      const store = await openPostgres({ url, schema, readers: 2, ...options });
      stores.push(store);
      return store;
    };
    const admin = <T>(deed: (sql: Sql) => Promise<T>) =>
      server.admin(async (sql) => {
        await sql`SELECT set_config('search_path', ${schema}, false)`;
        return deed(sql);
      }, url);
    try {
      await test({ server, url, schema, open, admin });
    } finally {
      for (const store of stores) await store.close();
    }
  }
}

async function start() {
  const server = await PostgresServer.start();
  return { server, url: await server.database() };
}

/** Looks again and again until it is so. The test's own time limit ends a wait in vain. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(10);
}
