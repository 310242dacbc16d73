// Runs the contract tests of the store on the Postgres engine, each with empty tables.
// @runtimes both
// @process own

import { after } from "node:test";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import { openPostgres } from "../../src/store/postgres/postgres.ts";
import type { Store } from "../../src/store/store.ts";
import { PostgresServer } from "../postgres-server.ts";
import {
  ReusedEngine,
  storeContract,
  storeContractVariant,
  testFileQuotas,
  testMaxCounted,
} from "./contract.ts";

let started: Promise<PostgresServer> | undefined;
let database: Promise<string> | undefined;
after(async () => (await started)?.close(), { timeout: 600_000 });

async function engine(wrap: (store: Store) => Store): Promise<ReusedEngine> {
  started ??= PostgresServer.shared();
  const server = await started;
  database ??= server.preparedDatabase();
  const url = await database;
  // The contract tests allow no stale read, of tokens neither, so that nothing is cached.
  const options = {
    url,
    readers: 2,
    cacheMs: 0,
    maxCounted: testMaxCounted,
    fileQuotas: testFileQuotas,
  };
  return ReusedEngine.start(
    async () => wrap(await openPostgres(options)),
    () => server.reset(url),
  );
}

storeContract("postgres", () => engine((store) => store));
storeContractVariant("postgres, grouped", "bun", () =>
  engine((store) => withGroupCommit(store, { isByCollection: true })),
);
