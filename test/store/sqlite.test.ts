// The SQLite engine: the exam, and what is its own.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { grouped } from "../../src/store/grouped.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { type Candidate, exam } from "./exam.ts";

async function candidate(wrap: (store: Store) => Store): Promise<Candidate> {
  const path = await mkdtemp(join(tmpdir(), "restante-"));
  const opened: Store[] = [];
  const open = async () => {
    const store = wrap(await openSqlite({ path }));
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
      await rm(path, { recursive: true });
    },
  };
}

exam("sqlite", () => candidate((store) => store));
exam("sqlite, grouped", () => candidate(grouped));
