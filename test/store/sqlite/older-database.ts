// A database of a made-up older version, the steps that migrate it, and what is in a database.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type MigrationStep, schemaVersion } from "../../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { all, create, define, once, put, remove, token } from "../contract/change-helpers.ts";

/** Lead from the made-up version to the newest. */
export const steps: readonly MigrationStep[] = [
  function* renameTable(copy) {
    copy.run("ALTER TABLE made_up RENAME TO epochs");
    yield 1;
  },
  function* addColumnAndIndex(copy) {
    copy.run("ALTER TABLE tombstones ADD COLUMN owner TEXT");
    yield 0.5;
    copy.run("CREATE INDEX resources_by_updated ON resources (part, updated, seq)");
    yield 1;
  },
];

export const olderVersion = schemaVersion - steps.length;

const takeBack = `
  ALTER TABLE epochs RENAME TO made_up;
  ALTER TABLE tombstones DROP COLUMN owner;
  DROP INDEX resources_by_updated;
  PRAGMA user_version = ${olderVersion}`;

/** Makes a store with some of everything in a folder, and brings it to the made-up older version. */
export async function makeOlder(path: string): Promise<void> {
  const store = await openSqlite({ path });
  await store.commit([
    create(),
    define('{"indexed":["n"],"searchable":["text"]}'),
    ...[1, 2, 3, 4, 5].map((n) => put(`id-${n}`, { fields: `{"n":${n},"text":"words ${n}"}` })),
    remove("id-2"),
    all([put("keyed")], once("key")),
    { kind: "create-token", token: token("t") },
  ]);
  await store.close();
  change(path, takeBack);
}

/** Says that the database is of another version. */
export const setVersion = (path: string, version: number): void =>
  change(path, `PRAGMA user_version = ${version}`);

/** As another program, that closes the database. */
export function change(path: string, statements: string): void {
  const database = new DatabaseSync(join(path, "restante.db"));
  database.exec(statements);
  database.close();
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
