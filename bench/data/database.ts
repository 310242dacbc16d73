// The Postgres server that is measured: the one of the tests, with its data on the disk.

import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresServer } from "../../test/postgres-server.ts";
import { treeSeconds } from "../servers/processors.ts";
import { person } from "./records.ts";

export interface Database {
  /** Postgres's own, as in `15.18`. */
  readonly version: string;
  /** On the disk where the data is. */
  readonly folder: string;
  /** An empty database; its address. */
  empty(): Promise<string>;
  /** With the peer's two tables and `count` people in the first. */
  forPeer(count: number): Promise<string>;
  /** Does now what Postgres would do by itself while something is measured. */
  vacuum(url: string): Promise<void>;
  /** Processor time since it was started. */
  readonly processorSeconds: () => number;
  close(): Promise<void>;
}

/** With its default settings. */
export async function startDatabase(): Promise<Database> {
  const server = await PostgresServer.start({ parent: tmpdir() });
  const show = (setting: string) =>
    server.admin(async (sql) => String((await sql.unsafe(`SHOW ${setting}`))[0]?.[setting]));
  const folder = await show("data_directory");
  const version = await show("server_version");
  return {
    version: version.split(" ")[0] ?? version,
    folder,
    empty: () => server.database(),
    async forPeer(count) {
      const url = await server.database();
      await fillPeer(server, url, count);
      return url;
    },
    async vacuum(url) {
      await server.admin((sql) => sql`VACUUM (ANALYZE)`, url);
    },
    processorSeconds: () => treeSeconds(postmaster(folder)),
    close: () => server.close(),
  };
}

async function fillPeer(server: PostgresServer, url: string, count: number): Promise<void> {
  const { name, email } = person(0);
  await server.admin(async (sql) => {
    for (const table of ["people", "letters"])
      await sql.unsafe(
        `CREATE TABLE ${table} (id SERIAL PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL)`,
      );
    await sql`
      INSERT INTO people (name, email)
      SELECT replace(${name}, '0', number::text), replace(${email}, '0', number::text)
      FROM generate_series(1, ${count}::integer) AS number`;
  }, url);
}

const postmaster = (folder: string): number =>
  Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0]);
