// A migration changes a copy and keeps the former database: complete, as it was, and whatever happens meanwhile.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { formerFiles } from "../../../src/store/sqlite/file.ts";
import { openFile } from "../../../src/store/sqlite/open.ts";
import { type MigrationStep, schemaVersion } from "../../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { isLong, newSeed, randomNumbers, within } from "../../seeds.ts";
import { all, doneIn, feedSince, kinds, once, put } from "../contract/change-helpers.ts";
import { assertFinds, is, wordsLike } from "../contract/query-helpers.ts";
import { change, contentOf, makeOlder, olderVersion, steps } from "./older-database.ts";
import {
  canInject,
  inDirectory,
  mountSmall,
  startChild,
  startChildUnder,
  withFault,
} from "./test-directory.ts";

const formerName = `restante.former-${olderVersion}.db`;

/** Migrates the database of a folder, and returns what is reported. */
async function migrate(path: string, wanted = steps): Promise<readonly string[]> {
  const messages: string[] = [];
  await openFile({ path, report: (_, message) => messages.push(message) }, wanted);
  return messages;
}

/** Runs a test in the folder of a database of the made-up older version. */
const inOlder = (
  test: (path: string, before: ReturnType<typeof contentOf>) => Promise<void>,
): Promise<void> =>
  inDirectory(async (path) => {
    await makeOlder(path);
    await test(path, contentOf(join(path, "restante.db")));
  });

/** A look at a database finishes what a killed process has left, so the next start gets another copy. */
const inCopy = (path: string, look: (copy: string) => void): Promise<void> =>
  inDirectory(async (copy) => {
    await cp(path, copy, { recursive: true });
    look(copy);
  });

const versionIn = (path: string): number => contentOf(join(path, "restante.db"))[0];

/** Everything that the tables are made of. */
function structureOf(path: string): readonly unknown[] {
  const database = new DatabaseSync(join(path, "restante.db"));
  const structure = database
    .prepare(
      `SELECT m.type, m.name, i.name AS item, coalesce(c.name, k.name) AS column, c.type AS kind,
         c."notnull", c.dflt_value, c.pk, i."unique"
       FROM sqlite_schema AS m
       LEFT JOIN pragma_table_info(m.name) AS c LEFT JOIN pragma_index_list(m.name) AS i
       LEFT JOIN pragma_index_info(i.name) AS k ORDER BY 2, c.cid, 3, k.seqno`,
    )
    .all();
  database.close();
  return structure;
}

/** The folder has a database of the older version, or a migrated one and the older one beside it. */
function assertWhole(path: string, before: ReturnType<typeof contentOf>, when: string): boolean {
  const isMigrated = versionIn(path) === schemaVersion;
  assert.deepEqual(
    contentOf(join(path, isMigrated ? formerName : "restante.db")),
    before,
    `killed at ${when}`,
  );
  return isMigrated;
}

describe("a migration", () => {
  it("gives the database the tables of a new one, and reports its progress", () =>
    inOlder(async (path) => {
      const messages = (await migrate(path)).filter((each) => !each.startsWith("copying"));
      assert.deepEqual(messages, [
        `migrating the database to version ${schemaVersion - 1}: 100 %`,
        `migrating the database to version ${schemaVersion}: 50 %`,
        `the database is migrated; ${formerName} is the previous one, kept until the next start`,
      ]);
      assert.equal(versionIn(path), schemaVersion);
      await inDirectory(async (fresh) => {
        await (await openSqlite({ path: fresh })).close();
        assert.deepEqual(structureOf(path), structureOf(fresh));
      });
      assert.deepEqual(await migrate(path), []);
    }));

  it("keeps all that is stored, also in a file that can shrink", () =>
    inOlder(async (path) => {
      await migrate(path);
      const store = await openSqlite({ path });
      assert.equal((await store.collection("things"))?.total, 5);
      await assertFinds(store, ["id-4"], { conditions: [is("n", "number", 4)] });
      await assertFinds(store, ["id-5"], { words: wordsLike("words 5") });
      assert.equal((await feedSince(store, 0, 100))?.entries.length, 6);
      assert.equal((await store.tokens()).length, 1);
      const [retried, created] = await store.commit([all([put("keyed")], once("key")), put("new")]);
      assert.ok(retried && created);
      assert.deepEqual([...kinds(doneIn(retried, true)), created.kind], ["created", "created"]);
      await store.close();
      const connection = new Connection(join(path, "restante.db"), "read");
      assert.equal(connection.query("PRAGMA auto_vacuum").one()?.[0], 2);
      connection.close();
    }));

  it("keeps the former database as it was", () =>
    inOlder(async (path, before) => {
      await migrate(path);
      const store = await openSqlite({ path });
      await store.commit([put("new")]);
      await store.close();
      assert.deepEqual(formerFiles(path), [join(path, formerName)]);
      assert.deepEqual(contentOf(join(path, formerName)), before);
    }));

  it("keeps what was only in the WAL, too", () =>
    inOlder(async (path) => {
      const writer = new Connection(join(path, "restante.db"), "write");
      const reader = new Connection(join(path, "restante.db"), "read");
      reader.query("SELECT count(*) FROM store").one();
      writer.run("UPDATE store SET id = 'in the WAL'");
      const files = await Promise.all(
        ["restante.db", "restante.db-wal"].map((name) => readFile(join(path, name))),
      );
      writer.close();
      reader.close();
      // As a killed process leaves them.
      await writeFile(join(path, "restante.db"), files[0] ?? "");
      await writeFile(join(path, "restante.db-wal"), files[1] ?? "");
      await migrate(path);
      const former = new DatabaseSync(join(path, formerName));
      assert.equal(former.prepare("SELECT id FROM store").get()?.id, "in the WAL");
      former.close();
    }));

  it("keeps only the last former database", () =>
    inOlder(async (path) => {
      await writeFile(join(path, "restante.former-4.db"), "of an earlier migration");
      await writeFile(join(path, "restante.former-3.db.part"), "of a killed one");
      await migrate(path);
      assert.deepEqual(formerFiles(path), [join(path, formerName)]);
    }));

  it("whose step fails leaves the database as it was", () =>
    inOlder(async (path, before) => {
      const failing: MigrationStep = function* (copy) {
        copy.run("ALTER TABLE tombstones ADD COLUMN owner TEXT");
        yield 0.5;
        copy.run("INSERT INTO nowhere VALUES (1)");
      };
      const [first = failing] = steps;
      await assert.rejects(migrate(path, [first, failing]), /no such table: nowhere/);
      assert.deepEqual(contentOf(join(path, "restante.db")), before);
      assert.deepEqual(formerFiles(path), []);
      assert.ok(!existsSync(join(path, "restante.copy")));
      await migrate(path);
    }));

  it("takes only the steps that follow the version of the database", () =>
    inOlder(async (path) => {
      const never: MigrationStep = () => assert.fail("the step is not for this version");
      await migrate(path, [never, never, ...steps]);
      assert.equal(versionIn(path), schemaVersion);
    }));

  it("does not begin while another process has the database open", () =>
    inOlder(async (path, before) => {
      const other = new Connection(join(path, "restante.db"), "write");
      other.query("SELECT count(*) FROM sqlite_schema").one();
      await assert.rejects(
        migrate(path),
        /another process has the database open, so it cannot be migrated: stop that process, and start again/,
      );
      other.close();
      assert.deepEqual(contentOf(join(path, "restante.db")), before);
      assert.deepEqual(formerFiles(path), []);
      await migrate(path);
    }));

  it("begins with a verified copy when the disk has failed", () =>
    inOlder(async (path) => {
      const mark = { reason: "test", since: "", batch: 1 };
      await writeFile(join(path, "restante.suspect"), JSON.stringify(mark));
      await migrate(path);
      assert.ok(!existsSync(join(path, "restante.suspect")));
      const store = await openSqlite({ path });
      assert.equal((await store.collection("things"))?.total, 5);
      assert.deepEqual(kinds(await store.commit([put("new")])), ["created"]);
      await store.close();
    }));

  it("is not made by a process that only reads", () =>
    inOlder(async (path) => {
      const committer = {
        commit: () => Promise.reject(new Error()),
        erase: () => Promise.reject(new Error()),
        scrub: () => Promise.reject(new Error()),
        lastError: undefined,
        settled: () => Promise.resolve(),
        close: () => Promise.resolve(),
      };
      await assert.rejects(openFile({ path, committer }, steps), /the schema version/);
      assert.equal(versionIn(path), olderVersion);
    }));

  it("says how much space it needs, and leaves the database to the former version", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      try {
        await makeOlder(path);
        const before = contentOf(join(path, "restante.db"));
        await writeFile(join(path, "ballast"), new Uint8Array(3.8 * 1024 * 1024));
        await assert.rejects(
          migrate(path),
          /a copy of the database needs \d+ bytes, but only \d+ are free: free up disk space in .*, or move the folder to a larger disk\. The database is unchanged, and the version that wrote it opens it$/,
        );
        assert.deepEqual(contentOf(join(path, "restante.db")), before);
        execFileSync("rm", [join(path, "ballast")]);
        await migrate(path);
        assert.deepEqual(contentOf(join(path, formerName)), before);
      } finally {
        execFileSync("umount", [path]);
      }
    }));

  it(
    "that is killed at any of its messages leaves an older or a migrated database",
    within(120_000),
    async () => {
      const states = { older: 0, migrated: 0 };
      for (let message = 1, isDone = false; !isDone; message++)
        await inOlder(async (path, before) => {
          isDone = (await startChild("migrate", path, `${message}`).gone) === 0;
          await inCopy(path, (copy) => {
            const isMigrated = assertWhole(copy, before, `message ${message}`);
            states[isMigrated ? "migrated" : "older"]++;
          });
          await migrate(path);
          assert.deepEqual(contentOf(join(path, formerName)), before);
          assert.ok(!existsSync(join(path, "restante.copy")));
        });
      assert.ok(states.older >= 2 && states.migrated >= 2, JSON.stringify(states));
    },
  );
});

/** The calls by which a migration changes the folder. */
const changes = "link,linkat,rename,renameat,renameat2,unlink,unlinkat,ftruncate,fsync,fdatasync";
const writes = "write,pwrite64,pwritev,pwritev2";

describe("a migration whose system calls fail", {
  skip: !canInject() && "strace is missing",
}, () => {
  /** Opens the folder in a process with the fault. Returns whether it succeeded. */
  async function openWith(
    path: string,
    calls: string,
    fault: string,
    file?: string,
  ): Promise<boolean> {
    const child = startChildUnder(withFault(calls, fault, file), "migrate", path);
    return (await child.gone) === 0;
  }

  it(
    "and that is killed at any of them leaves an older or a migrated database",
    within(600_000),
    async () => {
      const random = randomNumbers(newSeed("killed migration"));
      const next = (last: number, most: number) =>
        isLong ? last + 1 : last + 1 + Math.floor(random() * most);
      const states = { older: 0, migrated: 0 };
      for (let call = next(0, 8), isDone = false; !isDone; call = next(call, 12))
        await inOlder(async (path, before) => {
          isDone = await openWith(path, changes, `signal=KILL:when=${call}`);
          await inCopy(path, (copy) => {
            states[assertWhole(copy, before, `call ${call}`) ? "migrated" : "older"]++;
          });
          await migrate(path);
          assert.deepEqual(contentOf(join(path, formerName)), before);
          assert.ok(!existsSync(join(path, "restante.copy")));
        });
      assert.ok(states.older > 0 && states.migrated > 0);
    },
  );

  for (const [end, calls] of [
    ["before the copy", 1],
    ["after the copy", 2],
  ] as const)
    it(`and that is killed while it changes the journal mode ${end} is finished by the next start`, () =>
      inOlder(async (path, before) => {
        const journal = join(path, "restante.db-journal");
        await openWith(path, "unlink,unlinkat", `signal=KILL:when=${calls}`, journal);
        assert.ok(existsSync(journal));
        await migrate(path);
        assert.equal(versionIn(path), schemaVersion);
        assert.deepEqual(contentOf(join(path, formerName)), before);
      }));

  it("because the disk is full leaves the former database, and the next start succeeds", () =>
    inOlder(async (path, before) => {
      for (const call of [1, 3]) {
        const fault = `error=ENOSPC:when=${call}+`;
        const child = startChildUnder(
          withFault(writes, fault, join(path, "restante.copy")),
          "migrate",
          path,
        );
        assert.equal(await child.gone, 1);
        assert.match(
          child.lines.at(-1) ?? "",
          /Cannot open .*: the disk became full: free up disk space in .*opens it$/,
        );
        assert.deepEqual(contentOf(join(path, "restante.db")), before);
        assert.ok(!(await readdir(path)).includes("restante.copy"));
      }
      await migrate(path);
      assert.deepEqual(contentOf(join(path, formerName)), before);
    }));

  it("because the file system has no links copies the former database", () =>
    inOlder(async (path, before) => {
      assert.ok(await openWith(path, "link,linkat", "error=EPERM"));
      assert.deepEqual(formerFiles(path), [join(path, formerName)]);
      assert.deepEqual(contentOf(join(path, formerName)), before);
    }));
});

describe("a database of another version", () => {
  /** The names and the content of all files. */
  const filesIn = async (path: string) =>
    Promise.all(
      (await readdir(path)).sort().map(async (name) => [name, await readFile(join(path, name))]),
    );

  const refused = new RegExp(
    `Cannot open .*restante\\.db: the database has the schema version ${olderVersion - 1}, and this is Restante .*, which needs ${schemaVersion}: start with a new folder or database, or export the data with the version that wrote it$`,
  );

  it("with which no step begins is refused, and nothing in its folder changes", () =>
    inOlder(async (path) => {
      change(path, `PRAGMA user_version = ${olderVersion - 1}`);
      const before = await filesIn(path);
      await assert.rejects(migrate(path), refused);
      await assert.rejects(openSqlite({ path }), refused);
      assert.deepEqual(await filesIn(path), before);
    }));

  it("is refused beside the WAL of a killed process", () =>
    inOlder(async (path) => {
      change(path, `PRAGMA user_version = ${olderVersion - 1}`);
      const writer = new Connection(join(path, "restante.db"), "write");
      writer.run("UPDATE store SET id = 'in the WAL'");
      await inDirectory(async (killed) => {
        for (const name of ["restante.db", "restante.db-wal"])
          await cp(join(path, name), join(killed, name));
        const before = await filesIn(killed);
        await assert.rejects(openSqlite({ path: killed }), refused);
        assert.deepEqual(await filesIn(killed), before);
      });
      writer.close();
    }));

  it("that is newer is refused with what it needs, and nothing in its folder changes", () =>
    inOlder(async (path) => {
      change(path, "PRAGMA user_version = 99; UPDATE written_by SET oldest = '9.0'");
      const before = await filesIn(path);
      await assert.rejects(openSqlite({ path }), /use Restante 9\.0 or later, or go back/);
      assert.deepEqual(await filesIn(path), before);
    }));
});
