// Every statement on a table of data touches one part, which it compares with a parameter.
// @runtimes node
// @process own

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CommitCounter } from "../../../src/store/sqlite/commit-counter.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { Reader } from "../../../src/store/sqlite/reader.ts";
import { openRebuilder } from "../../../src/store/sqlite/rebuild-part.ts";
import { createTables } from "../../../src/store/sqlite/schema.ts";
import { sqliteSource } from "../../../src/store/sqlite/snapshot.ts";
import { finishChange } from "../../../src/store/sqlite/unfinished.ts";
import type { Change } from "../../../src/store/store.ts";
import { all, create, define, once, put, remove, token } from "../contract/change-helpers.ts";
import { ask, by, is } from "../contract/query-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const sources = new URL("../../../src/store/sqlite/", import.meta.url);

/** Files whose statements read the whole store to verify, migrate or copy it. */
const exceptions =
  /^(migrate|former|schema|free-space|repair|connection|loader|replica|snapshot|examine)\.ts$/;

/** Tables that are no data of a part. `deleted_parts` is the list of parts to delete, one by one. */
const shared = [...["collections", "deleted_parts", "store", "token_uses", "tokens", "written_by"]];

const definition =
  '{"unique":["n"],"indexed":["m"],"searchable":["text"],"access":{"read":"owner"}}';
const files = '[{"slot":"a","name":"a","type":"b","size":1,"sha256":"c","key":"d"}]';

/** Changes of every kind. */
const batches: readonly (readonly Change[])[] = [
  [],
  [create(), put("a"), put("b"), create("others")],
  [put("c", { expect: "nothing" }), put("a"), remove("b")],
  [define(definition), put("a"), put("d", { fields: '{"n":1,"m":2,"text":"words"}' })],
  [all([put("e"), { ...put("f"), files }], once("k")), all([put("e")], once("k"))],
  [put("b"), remove("f"), remove("d"), define("{}")],
  [
    { kind: "create-token", token: token("t") },
    { kind: "touch-token", id: "t", at: 1 },
    { kind: "revoke-token", id: "t", at: 1 },
  ],
  [{ kind: "drop", collection: "others", isEmptyOnly: true }],
  [{ kind: "drop", collection: "things", isEmptyOnly: false }],
  [create(), put("a")],
];

/** The statements by the name of the source file that prepares them. */
const statements = new Map<string, Set<string>>();
const { query } = Connection.prototype;

before(() => {
  Connection.prototype.query = function (this: Connection, sql: string) {
    const caller = /sqlite\/([\w-]+\.ts)/g;
    const names = [...(new Error().stack ?? "").matchAll(caller)].map(([, name = ""]) => name);
    const name = names.find((each) => each !== "connection.ts") ?? "";
    statements.set(name, (statements.get(name) ?? new Set()).add(sql));
    return query.call(this, sql);
  } as typeof query;
});
after(() => {
  Connection.prototype.query = query;
});

/** Runs the writer and the reader in this thread. */
async function useAll(path: string): Promise<void> {
  const file = prepareFile(path);
  finishChange(file.path);
  const options = { eraseAfterMs: 0, retention: { removalsMs: 0 } };
  const database = new Database(file, options, () => undefined);
  for (const changes of batches) database.commit(changes);
  database.erase({ changes: [], removed: [], subject: "a" });
  while (database.scrub({ isFirst: false, isFull: false }).kind !== "done");
  while (database.workInBackground());
  const counter = new CommitCounter(file.commitCounter);
  const reader = new Reader(new Connection(file.path, "read"), counter);
  // The statement that tests rows depends on the conditions.
  reader.query("things", ask({ conditions: [is("n", "number", 1)] }), () => undefined);
  for (const field of ["id", "createdAt", "updatedAt"])
    reader.query("things", ask({ sortings: [by(field, "text")] }), () => undefined);
  reader.close();
  counter.close();
  database.close();
  const snapshot = await sqliteSource(file.path).snapshot();
  await snapshot.close();
  const rebuilder = openRebuilder(path);
  for (const { part } of snapshot.collections) await rebuilder.rebuild(part);
  await rebuilder.close();
}

/** Returns what is wrong with a statement. */
function violations(connection: Connection, sql: string): readonly string[] {
  const comparisons = sql.match(/\bpart\s*(?:[<>!]|=(?!\s*\?)|IN\b|BETWEEN\b)|\bJOIN\b/gi) ?? [];
  const inserted = /^\s*INSERT (?:OR REPLACE )?INTO (\w+)\s*\((\w+)/i.exec(sql);
  if (inserted && !shared.includes(inserted[1] ?? "") && inserted[2] !== "part")
    return ["inserts without part"];
  const plan = query.call(connection, `EXPLAIN QUERY PLAN ${sql}`).all();
  const steps = plan.map((row) => String(row[3]));
  const wrong = steps.filter((step) => {
    const [, how, table = ""] = /^(SCAN|SEARCH) (\w+)/.exec(step) ?? [];
    if (how === undefined || shared.includes(table) || !tables.includes(table)) return false;
    // The part of a head, and of a build, is its row id.
    return !step.includes(["heads", "builds"].includes(table) ? "(rowid=?)" : "(part=?");
  });
  return [...comparisons, ...wrong];
}

const tables = [
  ...["heads", "resources", "tombstones", "positions", "entries", "words", "files"],
  ...["idempotency_keys", "epochs", "former_owners", "former_states", "builds", ...shared],
];

/** A quota of files counts those of all parts, and the builds are gone through one by one. */
const isOfAllParts = (sql: string): boolean =>
  sql.includes("INDEXED BY files_by_owner") || sql === "SELECT part FROM builds ORDER BY part";

const isOnData = (sql: string): boolean =>
  !isOfAllParts(sql) && /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql);

describe("the statements of the SQLite engine", () => {
  it("are those of all tables", () =>
    inDirectory(async (path) => {
      const connection = new Connection(prepareFile(path).path, "write");
      createTables(connection);
      const found = connection
        .query<readonly [string]>("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .all()
        .map(([name]) => name);
      assert.deepEqual(found.sort(), [...tables].sort());
      connection.close();
    }));

  it("compare part with a parameter wherever they use a table of data", () =>
    inDirectory(async (path) => {
      await useAll(path);
      const connection = new Connection(join(path, "restante.db"), "write");
      const all = [...statements].flatMap(([name, each]) =>
        exceptions.test(name) ? [] : [...each].filter(isOnData).map((sql) => [name, sql] as const),
      );
      assert.ok(all.length > 60, `only ${all.length} statements`);
      for (const [name, sql] of all)
        assert.deepEqual(violations(connection, sql), [], `${name}: ${sql}`);
      connection.close();
    }));

  it("are all recorded", async () => {
    for (const name of await readdir(sources)) {
      if (exceptions.test(name)) continue;
      const text = await readFile(new URL(name, sources), "utf8");
      const isPreparing = /onnection\s*\.query(?:<[^(]*>)?\(/.test(text);
      assert.equal(statements.has(name), isPreparing, name);
    }
  });

  it("are made by `query`, unless they begin or end a transaction or are a setting", async () => {
    const allowed = /^(?:BEGIN|COMMIT|SAVEPOINT|ROLLBACK|RELEASE|PRAGMA|VACUUM|UPDATE store)\b/;
    for (const name of await readdir(sources)) {
      if (exceptions.test(name)) continue;
      const text = await readFile(new URL(name, sources), "utf8");
      for (const [, sql = ""] of text.matchAll(/onnection\.run\(\s*["'`]([^"'`]*)/g))
        assert.match(sql, allowed, name);
    }
  });

  it("would be found when they are wrong", () =>
    inDirectory(async (path) => {
      const connection = new Connection(prepareFile(path).path, "write");
      createTables(connection);
      const wrong = [
        "SELECT id FROM resources WHERE id = ?",
        "SELECT id FROM resources WHERE part > ?",
        "SELECT total FROM heads",
        "SELECT total FROM collections JOIN heads USING (part)",
        "SELECT id FROM resources WHERE part = (SELECT part FROM collections WHERE name = ?)",
        "DELETE FROM words WHERE word = ?",
        "UPDATE idempotency_keys SET outcomes = ? WHERE rowid = ?",
        "INSERT INTO files (key, part, bytes) VALUES (?, ?, 0)",
      ];
      for (const sql of wrong) assert.notDeepEqual(violations(connection, sql), [], sql);
      connection.close();
    }));
});
