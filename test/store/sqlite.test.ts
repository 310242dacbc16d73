// Runs the contract tests of the store on the SQLite engine.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withGroupCommit } from "../../src/store/group-commit.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { type Candidate, candidateOf, exam, examVariant, fewCandidates } from "./exam.ts";

/** Bun maps the file of the commit counter; on Node, readers ask the database before each read. */
const mapFile = globalThis.Bun && ((file: string) => Bun.mmap(file, { shared: true }));

async function candidate(openAt: (path: string) => Promise<Store>): Promise<Candidate> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  return candidateOf(
    () => openAt(path),
    () => rm(path, { recursive: true }),
  );
}

const maxCandidates = fewCandidates;

exam("sqlite", () => candidate((path) => openSqlite({ path, maxCandidates })));
examVariant("sqlite, grouped, with a commit counter", () =>
  candidate(async (path) => withGroupCommit(await openSqlite({ path, mapFile, maxCandidates }))),
);
