// Indexes over several fields, as they are in the file.

import { join } from "node:path";
import { test } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { assertEntriesFollow } from "../entries-follow.ts";
import { inDirectory } from "./test-directory.ts";

test("stored entries follow writes and definitions", () =>
  inDirectory(async (path) => {
    const store = await openSqlite({ path });
    try {
      await assertEntriesFollow(store, async () => {
        const connection = new Connection(join(path, "restante.db"), "read");
        try {
          const order = "part, field, key, seq";
          return connection
            .query<readonly [string, string]>(`SELECT field, key FROM entries ORDER BY ${order}`)
            .all();
        } finally {
          connection.close();
        }
      });
    } finally {
      await store.close();
    }
  }));
