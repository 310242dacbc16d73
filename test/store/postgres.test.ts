// The Postgres engine: the exam, on one database, each candidate in a schema of its own.

import { after } from "node:test";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import type { Store } from "../../src/store/store.ts";
import { PostgresServer } from "../postgres-server.ts";
import { type Candidate, candidateOf, exam, fewCandidates } from "./exam.ts";

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
  // The exam lets nobody see anything old, tokens included.
  const options = { url, schema, readers: 2, cacheMs: 0, maxCandidates: fewCandidates };
  return candidateOf(
    async () => wrap(await openPostgres(options)),
    () => server.admin((sql) => sql`DROP SCHEMA ${sql(schema)} CASCADE`, url),
  );
}

exam("postgres", () => candidate((store) => store));
exam("postgres, grouped", () => candidate(withGroupCommit));
