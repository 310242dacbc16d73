// Runs the contract tests of the store on the Postgres engine, each in a database of its own.

import { after } from "node:test";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import type { Store } from "../../src/store/store.ts";
import { PostgresServer } from "../postgres-server.ts";
import { type Candidate, candidateOf, exam, examVariant, fewCandidates } from "./exam.ts";

let started: Promise<PostgresServer> | undefined;
after(async () => (await started)?.close(), { timeout: 60_000 });

async function candidate(wrap: (store: Store) => Store): Promise<Candidate> {
  started ??= PostgresServer.shared();
  const server = await started;
  const url = await server.preparedDatabase();
  // The contract tests allow no stale read, of tokens neither, so that nothing is cached.
  const options = { url, readers: 2, cacheMs: 0, maxCandidates: fewCandidates };
  return candidateOf(
    async () => wrap(await openPostgres(options)),
    () => server.drop(url),
  );
}

exam("postgres", () => candidate((store) => store));
examVariant("postgres, grouped", () => candidate(withGroupCommit));
