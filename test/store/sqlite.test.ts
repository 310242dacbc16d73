// Runs the contract tests of the store on the SQLite engine.
// @runtimes both
// @process own

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import {
  ReusedEngine,
  storeContract,
  storeContractVariant,
  testFileQuotas,
  testMaxCounted,
} from "./contract.ts";

/** Bun maps the file of the commit counter; on Node, readers ask the database before each read. */
const mapFile = globalThis.Bun && ((file: string) => Bun.mmap(file, { shared: true }));

async function engine(openAt: (path: string) => Promise<Store>): Promise<ReusedEngine> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  return ReusedEngine.start(
    () => openAt(path),
    () => rm(path, { recursive: true }),
  );
}

const maxCounted = testMaxCounted;
const fileQuotas = testFileQuotas;

// Every query runs on a reader thread here, and on the thread of the test below.
storeContract("sqlite", () =>
  engine((path) => openSqlite({ path, maxCounted, shortRows: 0, fileQuotas })),
);
storeContractVariant("sqlite, grouped, with a commit counter", "bun", () =>
  engine(async (path) =>
    withGroupCommit(await openSqlite({ path, mapFile, maxCounted, fileQuotas })),
  ),
);
