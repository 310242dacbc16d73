// The Postgres server that is measured: the one of the tests, with big sets that are kept between runs.

import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openPostgres } from "../src/store/postgres/postgres.ts";
import { PostgresServer } from "../test/postgres-server.ts";
import { fill, kept, storeFingerprint, thin } from "./prepare.ts";
import { run } from "./processes.ts";
import { treeSeconds } from "./processors.ts";
import { during } from "./progress.ts";
import { person } from "./scenarios.ts";

/** Names of databases. */
export const bigSet = { full: "full", thinned: "thinned", peer: "peer_full" } as const;
const template = "template1";

export interface Database {
  /** Postgres's own, as in `15.18`. */
  readonly version: string;
  /** On the disk where the data is. */
  readonly folder: string;
  url(name: string): string;
  /** An empty database; its address. */
  empty(): Promise<string>;
  /** With the peer's two tables and `count` people in the first. */
  forPeer(count: number): Promise<string>;
  readonly processorSeconds: () => number;
  close(): Promise<void>;
}

/** With its default settings, and `count` people in each of the big sets. */
export async function startDatabase(count: number): Promise<Database> {
  const server = await PostgresServer.start();
  const show = (setting: string) =>
    server.admin(async (sql) => String((await sql.unsafe(`SHOW ${setting}`))[0]?.[setting]));
  const folder = await show("data_directory");
  const version = await show("server_version");
  const madeBy = await storeFingerprint("postgres", version);
  const sets = await kept(`postgres-${count}-${madeBy}`, async (partial) => {
    await makeBigSets(server, count);
    await copyOf(server, folder, partial);
  });
  // Always of the copy, so that the first run measures what the others do.
  await copyOf(server, sets, folder);
  return {
    version: version.split(" ")[0] ?? version,
    folder,
    url: (name) => server.url(name),
    empty: () => server.database(),
    async forPeer(people) {
      const url = await server.database();
      await fillPeer(server, url, people);
      return url;
    },
    processorSeconds: () => treeSeconds(postmaster(folder)),
    close: () => server.close(),
  };
}

async function makeBigSets(server: PostgresServer, count: number): Promise<void> {
  const create = (name: string, from: string) =>
    server.admin((sql) => sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(from)}`);
  const store = (name: string) => () => openPostgres({ url: server.url(name) });
  await create(bigSet.full, template);
  await fill(store(bigSet.full), count);
  await create(bigSet.thinned, bigSet.full);
  await thin(store(bigSet.thinned), 0.1);
  await create(bigSet.peer, template);
  await fillPeer(server, server.url(bigSet.peer), count);
  // What Postgres would do by itself sooner or later must not happen while something is measured.
  for (const name of Object.values(bigSet))
    await during(
      `tidying ${name}`,
      server.admin((sql) => sql`VACUUM (ANALYZE)`, server.url(name)),
    );
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

/** While the server rests; one of the folders is its own. */
async function copyOf(server: PostgresServer, from: string, to: string): Promise<void> {
  await server.stop("INT");
  await rm(to, { recursive: true, force: true });
  // With the owner, because Postgres runs as another user where we are root.
  const copying = run({ command: "cp", args: ["-a", from, to] }, 600);
  await during("copying the database", copying);
  await server.start();
}

const postmaster = (folder: string): number =>
  Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0]);
