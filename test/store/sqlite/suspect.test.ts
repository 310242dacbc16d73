// A disk that fails for a moment: no write is acknowledged until the database is in new, verified files.
// @process own

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { copyFile, cp, mkdir, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { mapFile } from "#runtime";
import { Outage } from "../../../src/model/outage.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { itLong } from "../../short-run.ts";
import {
  type Child,
  canInject,
  inDirectory,
  mountSmall,
  startChild,
  startChildUnder,
  withFault,
} from "./test-directory.ts";
import { assertAllStored, contentOf, ReportedWrites } from "./written-content.ts";

const create: Change = { kind: "create-collection", collection: "things", at: 1 };
const put = (id: string, bytes = 0): Change => ({
  kind: "put",
  collection: "things",
  id,
  fields: contentOf(id, bytes),
  at: 10,
  expect: "nothing",
});
const isSuspect = (error: unknown): boolean =>
  error instanceof Outage && error.reason === "suspect";
/** The write that notices the missing files was committed into them; the next one is rejected. */
const isNotAcknowledged = (error: unknown): boolean =>
  isSuspect(error) || (error instanceof Outage && error.reason === "unknown");

const inode = async (path: string): Promise<number> => (await stat(join(path, "restante.db"))).ino;

const turn = () => new Promise((go) => setTimeout(go, 20));

/** Resolves when the store takes writes again. */
async function untilReady(store: Store): Promise<void> {
  while ((await store.ready()) !== undefined) await turn();
}

/** A closed store with some resources in it. */
async function fill(path: string, ids: readonly string[], bytes = 0): Promise<void> {
  const store = await openSqlite({ path });
  await store.commit([create, ...ids.map((id) => put(id, bytes))]);
  await store.close();
}

async function assertStored(
  path: string,
  ids: readonly string[],
  bytes = 0,
  unknown: readonly string[] = [],
): Promise<void> {
  const store = await openSqlite({ path });
  assert.equal(await store.ready(), undefined);
  await assertAllStored(store, ids, unknown, bytes);
  await store.close();
}

describe("system calls that fail", () => {
  const cases = [
    ["a sync of a commit", "fsync,fdatasync", "", runs(130, 300), 0],
    ["a write of a commit", "pwrite64", "restante.db-wal", runs(130, 300), 0],
    ["a write of a checkpoint", "pwrite64", "restante.db", 120, 200_000],
    ["a sync of a checkpoint", "fsync,fdatasync", "restante.db", 120, 200_000],
    ["a call of our own", "pwrite64", "restante.commits", runs(130, 300), 0],
  ] as const;

  for (const [title, calls, name, count, bytes] of cases)
    it(`${title}: suspect, repaired, and nothing is lost`, (context) =>
      inDirectory(async (path) => {
        if (!canInject()) return context.skip("strace is not here or not allowed");
        await fill(path, []);
        const random = randomNumbers(newSeed(title));
        for (let run = 0; run < runs(1, 20); run++) {
          const prefix = `run${run}`;
          const when = 10 + Math.floor(random() * (name === "restante.db" ? 1 : 100));
          // The first calls on the database itself are those of the checkpoint.
          const at = name === "restante.db" ? "1" : `${when}`;
          const file = name === "" ? undefined : join(path, name);
          const strace = withFault(calls, `error=EIO:when=${at}`, file);
          const child = startChildUnder(strace, "persist", path, `${count}`, `${bytes}`, prefix);
          assert.equal(await child.gone, 0, child.lines.join("\n"));
          const reported = new ReportedWrites(child.lines);
          assert.match(reported.with("error").join("\n"), /writes are rejected/);
          assert.match(reported.with("info").join("\n"), /copied to new files and verified/);
          const kept = reported.with("kept");
          assert.ok(kept.length >= count - 3, `${kept.length} of ${count}`);
          const store = await openSqlite({ path });
          await assertAllStored(store, kept, reported.with("unknown"), bytes);
          await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
          await store.close();
        }
      }));
});

describe("a WAL that fails again when it is written again", () => {
  for (const [title, calls] of [
    ["a write", "pwrite64"],
    ["a sync", "fsync,fdatasync"],
  ] as const)
    it(`${title}: nothing is written to the old files, and writes are possible again`, (context) =>
      inDirectory(async (path) => {
        if (!canInject()) return context.skip("strace is not here or not allowed");
        await fill(path, []);
        const wal = join(path, "restante.db-wal");
        const strace = withFault(calls, "error=EIO:when=20..22", wal);
        const child = startChildUnder(strace, "persist", path, "40");
        assert.equal(await child.gone, 0, child.lines.join("\n"));
        const reported = new ReportedWrites(child.lines);
        assert.match(reported.with("error").join("\n"), /writes are rejected/);
        const kept = reported.with("kept");
        assert.ok(kept.length >= 36, `${kept.length}`);
        await assertStored(path, kept, 0, reported.with("unknown"));
      }));
});

describe("a database that is marked as suspect", () => {
  const ids = ["a", "b", "c"];

  it("is copied to new files at start, before it accepts writes", () =>
    inDirectory(async (path) => {
      await fill(path, ids, 5_000);
      const before = await inode(path);
      await writeFile(join(path, "restante.suspect"), "");
      const messages: string[] = [];
      const store = await openSqlite({ path, report: (_, message) => messages.push(message) });
      assert.equal(await store.ready(), undefined);
      assert.notEqual(await inode(path), before);
      await store.commit([put("later", 5_000)]);
      await store.close();
      assert.deepEqual((await readdir(path)).sort(), ["restante.commits", "restante.db"]);
      assert.equal(((await stat(join(path, "restante.db"))).mode & 0o777).toString(8), "600");
      assert.match(messages.at(-1) ?? "", /copied to new files/);
      await assertStored(path, [...ids, "later"], 5_000);
    }));

  it("stays readable and accepts no writes while there is no room for a copy", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      try {
        await fill(path, ids, 300_000);
        await writeFile(join(path, "ballast"), new Uint8Array(5 * 512 * 1024));
        await writeFile(join(path, "restante.suspect"), "{}");
        const store = await openSqlite({ path });
        await assertAllStored(store, ids, [], 300_000);
        await assert.rejects(store.commit([put("d")]), isSuspect);
        assert.match((await store.ready()) ?? "", /needs \d+ bytes, but only \d+ are free/);
        // Started again, it is as suspect as before.
        await store.close();
        assert.ok(existsSync(join(path, "restante.suspect")));
        const again = await openSqlite({ path });
        await assert.rejects(again.commit([put("d")]), isSuspect);
        await rm(join(path, "ballast"));
        await untilReady(again);
        await again.commit([put("d", 300_000)]);
        await assertAllStored(again, [...ids, "d"], [], 300_000);
        await again.close();
      } finally {
        execFileSync("umount", ["--lazy", path]);
      }
    }));

  it("reports what to do when the file system has become read-only", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      await fill(path, ids);
      await writeFile(join(path, "restante.suspect"), "{}");
      const strace = withFault("openat", "error=EROFS:when=1", join(path, "restante.copy"));
      const child = startChildUnder(strace, "persist", path, "3");
      assert.equal(await child.gone, 0);
      const reported = new ReportedWrites(child.lines);
      assert.match(
        reported.with("error").at(-1) ?? "",
        /read-only.*unmount.*run fsck.*reads still work/,
      );
      assert.match(reported.with("info").join("\n"), /copied to new files and verified/);
      assert.equal(reported.with("kept").length, 3);
      await assertStored(path, [...ids, ...reported.with("kept")]);
    }));

  it("reports which acknowledged writes are missing", () =>
    inDirectory(async (path) => {
      await fill(path, ids);
      const mark = { reason: "the disk failed", since: "", batch: 1_000 };
      await writeFile(join(path, "restante.suspect"), JSON.stringify(mark));
      const store = await openSqlite({ path });
      assert.match(
        (await store.ready()) ?? "",
        /acknowledged writes are missing.*Restore a backup/,
      );
      await assert.rejects(store.commit([put("d")]), isSuspect);
      await assertAllStored(store, ids, [], 0);
      await store.close();
    }));

  itLong("is repaired after an error in any step of its repair", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      const marked = join(path, "marked");
      await mkdir(marked);
      await leaveOpen(marked, ids);
      await writeFile(join(marked, "restante.suspect"), "");
      // Those of the swap are on the folder, and on the files that it gives other names.
      const places = [
        "",
        "restante.new",
        "restante.suspect",
        "restante.commits",
        "restante.db-wal",
      ];
      let failures = 0;
      for (const place of places)
        for (let when = 1, isHit = true; isHit; when++) {
          const folder = join(path, `${place}-${when}`);
          await cp(marked, folder, { recursive: true });
          const calls = place === "restante.commits" ? "pwrite64" : "fsync,rename,unlink";
          const strace = withFault(calls, `error=EIO:when=${when}`, join(folder, place));
          const child = startChildUnder(strace, "persist", folder, "3", "5000");
          const isStarted = (await child.gone) === 0;
          const reported = new ReportedWrites(child.lines);
          isHit = reported.with("error").some((line) => line.includes("cannot be copied"));
          if (isHit) {
            failures++;
            // In the middle of the swap there is nothing to read, so it does not start.
            const isSwapping = existsSync(join(folder, "restante.new"));
            assert.equal(isStarted, !isSwapping, `${place} ${when}: ${child.lines.join("\n")}`);
          }
          const kept = reported.with("kept");
          await assertStored(folder, [...ids, ...kept], 5_000, reported.with("unknown"));
          await rm(folder, { recursive: true });
        }
      assert.ok(failures >= 5, `${failures} failures`);
    }),
  );

  itLong("that is killed at any step of its repair is the old one or the new one", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      const steps = [
        ["rename", 1],
        ["unlink", runs(10, 1)],
        ["fsync,fdatasync", runs(10, 1)],
        ["pwrite64", runs(150, 1)],
      ] as const;
      const marked = join(path, "marked");
      await mkdir(marked);
      await leaveOpen(marked, ids);
      await writeFile(join(marked, "restante.suspect"), "");
      let kills = 0;
      for (const [calls, stride] of steps)
        for (let when = 1, isKilled = true; isKilled; when += stride) {
          const folder = join(path, `${calls}-${when}`);
          await cp(marked, folder, { recursive: true });
          const strace = withFault(calls, `signal=KILL:when=${when}`);
          isKilled = (await startChildUnder(strace, "persist", folder, "0").gone) !== 0;
          if (isKilled) kills++;
          await assertStored(folder, ids, 5_000);
          await rm(folder, { recursive: true });
        }
      assert.ok(kills > 3, `${kills} kills`);
    }),
  );
});

/** Leaves a folder as a crash does: with all that was written only in the WAL. */
async function leaveOpen(folder: string, ids: readonly string[]): Promise<void> {
  await inDirectory(async (other) => {
    const store = await openSqlite({ path: other });
    await store.commit([create, ...ids.map((id) => put(id, 5_000))]);
    for (const name of ["restante.db", "restante.db-wal", "restante.commits"])
      await copyFile(join(other, name), join(folder, name));
    await store.close();
  });
}

describe("files that are deleted under a running store", () => {
  const thefts: readonly (readonly [string, (file: string) => Promise<void>])[] = [
    ["the WAL is deleted", (file) => rm(`${file}-wal`)],
    ["the shared memory is deleted", (file) => rm(`${file}-shm`)],
    [
      "the WAL is replaced",
      async (file) => {
        await rm(`${file}-wal`);
        await writeFile(`${file}-wal`, new Uint8Array(100_000));
      },
    ],
  ];

  for (const [title, steal] of thefts)
    it(`${title}: rejected, then saved with everything acknowledged`, () =>
      inDirectory(async (path) => {
        const store = await openSqlite({ path });
        await store.commit([create, put("a")]);
        await steal(join(path, "restante.db"));
        await assert.rejects(store.commit([put("b")]), isNotAcknowledged);
        await assert.rejects(store.commit([put("refused")]), isSuspect);
        assert.notEqual(await store.ready(), undefined);
        assert.equal((await store.find("things", "a"))?.id, "a");
        await untilReady(store);
        await store.commit([put("c")]);
        await assertAllStored(store, ["a", "c"], ["b"], 0);
        await store.close();
        await assertStored(path, ["a", "c"], 0, ["b"]);
      }));

  it("are noticed also while nobody writes", () =>
    inDirectory(async (path) => {
      const reported = Promise.withResolvers<string>();
      const store = await openSqlite({ path, report: (_, message) => reported.resolve(message) });
      await store.commit([create, put("a")]);
      await rm(join(path, "restante.db-wal"));
      assert.match(await reported.promise, /restante\.db-wal.* was deleted or replaced/);
      await untilReady(store);
      await store.close();
      await assertStored(path, ["a"]);
    }));
});

describe("a swap whose last step fails", () => {
  it("is repeated from there", () =>
    inDirectory(async (path) => {
      const [file, counter] = [join(path, "restante.db"), join(path, "restante.commits")];
      const store = await openSqlite({ path, mapFile });
      await store.commit([create, put("a")]);
      const before = await inode(path);
      await rename(counter, `${counter}.away`);
      await mkdir(counter);
      await rm(`${file}-shm`);
      await assert.rejects(store.commit([put("b")]), isNotAcknowledged);
      while (!/commit counter/.test((await store.ready()) ?? "")) await turn();
      assert.notEqual(await inode(path), before);
      await assert.rejects(store.commit([put("refused")]), isSuspect);
      await rmdir(counter);
      await rename(`${counter}.away`, counter);
      await untilReady(store);
      await store.commit([put("c")]);
      await assertAllStored(store, ["a", "c"], ["b"], 0);
      await store.close();
      await assertStored(path, ["a", "c"], 0, ["b"]);
    }));
});

describe("readers of a database that was replaced by its copy", () => {
  itLong("read it although they have opened the one before without its WAL", () =>
    inDirectory(async (path) => {
      await fill(path, ["a"]);
      const store = await openSqlite({ path });
      await store.commit([put("b")]);
      for (const name of ["restante.db-wal", "restante.db-shm"]) await rm(join(path, name));
      const reader = startChild("look-up", path, "b");
      assert.equal(await reader.gone, 0);
      assert.equal(reader.lines.at(-1), "found");
      await store.close();
      await assertStored(path, ["a", "b"]);
    }),
  );

  it("read one that was replaced by an older one while nothing ran", () =>
    inDirectory(async (path) => {
      await fill(path, ["a"]);
      const [file, older] = [join(path, "restante.db"), join(path, "older.db")];
      await copyFile(file, older);
      await fill(path, ["b"]);
      await copyFile(older, file);
      const reader = startChild("look-up", path, "a");
      assert.equal(await reader.gone, 0);
      assert.deepEqual(reader.lines, ["found"]);
    }));

  for (const [title, map] of [
    ["with the counter in memory", mapFile],
    ["reading the counter", undefined],
  ] as const)
    it(`${title}, see the next write immediately`, () =>
      inDirectory(async (path) => {
        const store = await openSqlite({ path, mapFile: map });
        await store.commit([create, put("a")]);
        const committer = {
          commit: (changes: readonly Change[]) => store.commit(changes),
          erase: store.erase.bind(store),
          scrub: store.scrub.bind(store),
          lastError: undefined,
          settled: async () => undefined,
          close: async () => undefined,
        };
        const follower = await openSqlite({ path, mapFile: map, committer });
        assert.equal((await follower.find("things", "a"))?.id, "a");
        await rm(join(path, "restante.db-wal"));
        await assert.rejects(store.commit([put("b")]), isNotAcknowledged);
        await untilReady(store);
        await store.commit([put("c")]);
        for (const reader of [follower, store]) {
          assert.equal((await reader.find("things", "c"))?.id, "c");
          await assertAllStored(reader, ["a", "c"], ["b"], 0);
        }
        await follower.close();
        await store.close();
        await assertStored(path, ["a", "c"], 0, ["b"]);
      }));
});

describe("a copy whose bytes on the disk differ", () => {
  it("is not used", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      const file = join(path, "copy");
      await writeFile(file, "content");
      try {
        closeSync(openSync(file, constants.O_RDONLY | constants.O_DIRECT));
      } catch {
        return context.skip("this file system does not read past its cache");
      }
      assert.deepEqual(await linesOf(startChild("on-disk", file)), ["same"]);
      // The first read is the one past the cache.
      const strace = withFault("pread64", "retval=0:when=1", file);
      const [line] = await linesOf(startChildUnder(strace, "on-disk", file));
      assert.match(line ?? "", /did not store the copy correctly/);
    }));
});

const linesOf = ({ gone, lines }: Child) => gone.then(() => lines);

describe("closing", () => {
  it("leaves the WAL to the next start when the checkpoint fails", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      await fill(path, []);
      const strace = withFault("pwrite64", "error=EIO:when=1+", join(path, "restante.db"));
      const child = startChildUnder(strace, "persist", path, "20");
      assert.equal(await child.gone, 0);
      const kept = new ReportedWrites(child.lines).with("kept");
      assert.equal(kept.length, 20);
      assert.ok(existsSync(join(path, "restante.suspect")));
      assert.ok(existsSync(join(path, "restante.db-wal")));
      await assertStored(path, kept);
      assert.equal(await startChild("persist", path, "0").gone, 0);
    }));
});
