// Databases of earlier versions, and what is in them.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { upgradeTables } from "../../../src/store/sqlite/upgrade.ts";

/** Versions 1 to 7 are dumps. The others are made from version 7 by the steps that lead there. */
export async function makeOld(path: string, version: number): Promise<void> {
  const dump = new URL(`./version-${Math.min(version, 7)}.sql`, import.meta.url);
  const database = new DatabaseSync(join(path, "restante.db"));
  database.exec(`PRAGMA journal_mode = wal; ${await readFile(dump, "utf8")}`);
  database.close();
  if (version <= 7) return;
  const connection = new Connection(join(path, "restante.db"), "write");
  for (const [next] of upgradeTables(connection)) if (next > version) break;
  connection.close();
}

/** A digest of the tables and all rows, and the version. Throws when the file is damaged. */
export function contentOf(file: string): readonly [version: number, digest: string] {
  const database = new DatabaseSync(file);
  try {
    assert.equal(database.prepare("PRAGMA integrity_check").get()?.integrity_check, "ok");
    const tables = database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name");
    const hash = createHash("sha256");
    for (const { type, name, sql } of tables.all()) {
      hash.update(`${type} ${name} ${sql}`);
      if (type === "table")
        hash.update(JSON.stringify(database.prepare(`SELECT * FROM "${name}"`).all()));
    }
    const version = database.prepare("PRAGMA user_version").get()?.user_version;
    return [Number(version), hash.digest("hex")];
  } finally {
    database.close();
  }
}
