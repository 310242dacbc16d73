// A migration keeps the former database: complete, as it was, and whatever happens meanwhile.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { formerFiles } from "../../../src/store/sqlite/file.ts";
import { schemaVersion } from "../../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { isLong, newSeed, randomNumbers, within } from "../../seeds.ts";
import { isShort } from "../../short-run.ts";
import { put } from "../contract/change-helpers.ts";
import { contentOf, makeOld } from "./old-databases.ts";
import {
  canInject,
  inDirectory,
  mountSmall,
  startChildUnder,
  withFault,
} from "./test-directory.ts";

const open = async (path: string): Promise<void> => (await openSqlite({ path })).close();

/** A look at a database finishes what a killed process has left, so the next start gets another copy. */
const inCopy = (path: string, look: (copy: string) => void): Promise<void> =>
  inDirectory(async (copy) => {
    await cp(path, copy, { recursive: true });
    look(copy);
  });

const versionIn = (path: string): number => contentOf(join(path, "restante.db"))[0];

describe("a migration", () => {
  for (const version of [1, 4, 6, 7, 8, 9, 10, 11, 12])
    it(`from version ${version} keeps the former database as it was`, () =>
      inDirectory(async (path) => {
        await makeOld(path, version);
        const before = contentOf(join(path, "restante.db"));
        assert.equal(before[0], version);
        const store = await openSqlite({ path });
        await store.commit([put("new", { collection: "plain" })]);
        await store.close();
        assert.equal(versionIn(path), schemaVersion);
        const former = join(path, `restante.former-${version}.db`);
        assert.deepEqual(formerFiles(path), [former]);
        assert.deepEqual(contentOf(former), before);
      }));

  it("keeps what was only in the WAL, too", () =>
    inDirectory(async (path) => {
      await makeOld(path, 12);
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
      await open(path);
      const former = new DatabaseSync(join(path, "restante.former-12.db"));
      assert.equal(former.prepare("SELECT id FROM store").get()?.id, "in the WAL");
      former.close();
    }));

  it("keeps only the last former database", () =>
    inDirectory(async (path) => {
      await makeOld(path, 7);
      await writeFile(join(path, "restante.former-4.db"), "of an earlier migration");
      await writeFile(join(path, "restante.former-3.db.part"), "of a killed one");
      await open(path);
      assert.deepEqual(formerFiles(path), [join(path, "restante.former-7.db")]);
    }));

  it("does not begin while another process has the database open", () =>
    inDirectory(async (path) => {
      await makeOld(path, 4);
      const before = contentOf(join(path, "restante.db"));
      // A server of 0.1.0 takes no lock on the folder.
      const other = new Connection(join(path, "restante.db"), "write");
      other.query("SELECT count(*) FROM sqlite_schema").one();
      await assert.rejects(
        open(path),
        /another process has the database open, so it cannot be migrated: stop that process, and start again/,
      );
      other.close();
      assert.deepEqual(contentOf(join(path, "restante.db")), before);
      assert.deepEqual(formerFiles(path), []);
      await open(path);
    }));

  it("says how much space it needs, and leaves the database to the former version", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      try {
        await makeOld(path, 7);
        const before = contentOf(join(path, "restante.db"));
        await writeFile(join(path, "ballast"), new Uint8Array(3.8 * 1024 * 1024));
        await assert.rejects(
          open(path),
          /a copy of the database needs \d+ bytes, but only \d+ are free: free up disk space in .*, or move the folder to a larger disk\. The database is unchanged, and the version that wrote it opens it$/,
        );
        assert.deepEqual(contentOf(join(path, "restante.db")), before);
        execFileSync("rm", [join(path, "ballast")]);
        await open(path);
        assert.deepEqual(contentOf(join(path, "restante.former-7.db")), before);
      } finally {
        execFileSync("umount", [path]);
      }
    }));
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
    const child = startChildUnder(withFault(calls, fault, file), "open-old", path);
    return (await child.gone) === 0;
  }

  for (const version of isShort ? [7] : [4, 7])
    it(
      `and that is killed at any of them leaves version ${version} or a migrated database`,
      within(600_000),
      async () => {
        const random = randomNumbers(newSeed(`killed migration of version ${version}`));
        const states = { old: 0, migrated: 0 };
        for (
          let call = isLong ? 1 : 1 + Math.floor(random() * 8);
          ;
          call += isLong ? 1 : 1 + Math.floor(random() * 12)
        ) {
          let isDone = false;
          await inDirectory(async (path) => {
            await makeOld(path, version);
            const before = contentOf(join(path, "restante.db"));
            isDone = await openWith(path, changes, `signal=KILL:when=${call}`);
            await inCopy(path, (copy) => {
              const isMigrated = versionIn(copy) === schemaVersion;
              states[isMigrated ? "migrated" : "old"]++;
              const kept = join(copy, isMigrated ? `restante.former-${version}.db` : "restante.db");
              assert.deepEqual(contentOf(kept), before, `killed at call ${call}`);
            });
            await open(path);
            assert.deepEqual(contentOf(join(path, `restante.former-${version}.db`)), before);
            assert.ok(!existsSync(join(path, "restante.copy")));
          });
          if (isDone) break;
        }
        assert.ok(states.old > 0 && states.migrated > 0);
      },
    );

  for (const [end, calls] of [
    ["before the copy", 1],
    ["after the copy", 2],
  ] as const)
    it(`and that is killed while it changes the journal mode ${end} is finished by the next start`, () =>
      inDirectory(async (path) => {
        await makeOld(path, 7);
        const before = contentOf(join(path, "restante.db"));
        const journal = join(path, "restante.db-journal");
        await openWith(path, "unlink,unlinkat", `signal=KILL:when=${calls}`, journal);
        assert.ok(existsSync(journal));
        await open(path);
        assert.equal(versionIn(path), schemaVersion);
        assert.deepEqual(contentOf(join(path, "restante.former-7.db")), before);
      }));

  it("because the disk is full leaves the former database, and the next start succeeds", () =>
    inDirectory(async (path) => {
      await makeOld(path, 7);
      const before = contentOf(join(path, "restante.db"));
      for (const call of [1, 3]) {
        const fault = `error=ENOSPC:when=${call}+`;
        const child = startChildUnder(
          withFault(writes, fault, join(path, "restante.copy")),
          "open-old",
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
      await open(path);
      assert.deepEqual(contentOf(join(path, "restante.former-7.db")), before);
    }));

  it("because the file system has no links copies the former database", () =>
    inDirectory(async (path) => {
      await makeOld(path, 7);
      const before = contentOf(join(path, "restante.db"));
      assert.ok(await openWith(path, "link,linkat", "error=EPERM"));
      assert.deepEqual(formerFiles(path), [join(path, "restante.former-7.db")]);
      assert.deepEqual(contentOf(join(path, "restante.former-7.db")), before);
    }));
});
