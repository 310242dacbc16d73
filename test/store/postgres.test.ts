// The Postgres engine: the exam, on one database, each candidate in a schema of its own.

import { after } from "node:test";
import { grouped } from "../../src/store/grouped.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import type { Store } from "../../src/store/store.ts";
import { PostgresServer } from "../postgres-server.ts";
import { fewCandidates } from "./exam/candidate.ts";
import { type Candidate, exam } from "./exam.ts";

let database: Promise<readonly [PostgresServer, string]> | undefined;
let schemas = 0;

async function start(): Promise<readonly [PostgresServer, string]> {
  const server = await PostgresServer.start();
  return [server, await server.database()];
}

after(
  async () => {
    const [server] = (await database) ?? [];
    await server?.close();
  },
  { timeout: 60_000 },
);

async function candidate(wrap: (store: Store) => Store): Promise<Candidate> {
  database ??= start();
  const [server, url] = await database;
  const schema = `candidate_${++schemas}`;
  const opened: Store[] = [];
  const open = async () => {
    // The exam lets nobody see anything old, tokens included.
    const store = wrap(
      await openPostgres({ url, schema, readers: 2, memoryMs: 0, maxCandidates: fewCandidates }),
    );
    opened.push(store);
    return store;
  };
  const store = await open();
  return {
    store,
    reopen: async () => {
      await store.close();
      return open();
    },
    second: open,
    destroy: async () => {
      for (const each of opened) await each.close();
      await server.admin((sql) => sql`DROP SCHEMA ${sql(schema)} CASCADE`, url);
    },
  };
}

exam("postgres", () => candidate((store) => store));
exam("postgres, grouped", () => candidate(grouped));
