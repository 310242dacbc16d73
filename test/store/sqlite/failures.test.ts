// Storage that fails under a running store: nothing false is acknowledged, and it recovers.
// @runtimes both

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Outage } from "../../../src/model/outage.ts";
import { withGroupCommit } from "../../../src/store/group-commit.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { WriterClient } from "../../../src/store/sqlite/writer-client.ts";
import type { Change, Put, Store } from "../../../src/store/store.ts";
import { runs } from "../../seeds.ts";
import { itLong } from "../../short-run.ts";
import { inDirectory, mountSmall } from "./test-directory.ts";

const create: Change = { kind: "create-collection", collection: "things", at: 1 };

const put = (id: string, fields = "{}", at = 10): Put => ({
  kind: "put",
  collection: "things",
  id,
  fields,
  at,
  expect: "nothing",
});

/** Larger than the disk of a test. */
const large = `{"x":"${"x".repeat(5_000_000)}"}`;

const outageOf =
  (reason: Outage["reason"]) =>
  (error: unknown): boolean =>
    error instanceof Outage && error.reason === reason;

describe("a full disk", () => {
  it("rejects writes, allows reads, and accepts writes again when there is room", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      try {
        await writeFile(join(path, "ballast"), new Uint8Array(2 * 1024 * 1024));
        const store = await openSqlite({ path });
        await store.commit([create]);
        const kept: string[] = [];
        const fields = `{"x":"${"x".repeat(20_000)}"}`;
        const fill = async () => {
          for (let count = 0; count < 200; count++) {
            const id = `id-${kept.length}`;
            await store.commit([put(id, fields)]);
            kept.push(id);
          }
        };
        await assert.rejects(fill(), outageOf("full"));
        assert.ok(kept.length > 0);
        await assert.rejects(store.commit([put("large", fields.repeat(3))]), outageOf("full"));
        for (const id of kept) assert.equal((await store.find("things", id))?.fields, fields);
        assert.equal(await store.find("things", `id-${kept.length}`), undefined);
        assert.equal((await store.collection("things"))?.total, kept.length);

        // After a restart it serves reads too, and recovers by itself.
        await store.close();
        const again = await openSqlite({ path });
        assert.equal((await again.collection("things"))?.total, kept.length);
        await rm(join(path, "ballast"));
        assert.equal(await again.ready(), undefined);
        await again.commit([put("later", fields)]);
        assert.equal((await again.collection("things"))?.total, kept.length + 1);
        await again.close();
      } finally {
        execFileSync("umount", [path]);
      }
    }));
});

describe("a disk that resources have filled", () => {
  it("deletes all of them, also in one commit with what has no room", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      const store = withGroupCommit(await openSqlite({ path }));
      try {
        await store.commit([create]);
        const kept: string[] = [];
        const fill = async () => {
          for (let bytes = 50_000; bytes >= 100; bytes /= 2)
            for (;;) {
              const id = `id-${kept.length}`;
              const [result] = await Promise.allSettled([
                store.commit([put(id, `{"x":"${"x".repeat(bytes)}"}`)]),
              ]);
              if (result.status === "rejected") break;
              kept.push(id);
            }
        };
        for (const round of [1, 2, 3]) {
          await fill();
          assert.ok(kept.length > 10, `round ${round}`);
          const change = { ...put("id-0"), expect: "anything" } as const;
          await assert.rejects(store.commit([change]), outageOf("full"));
          const [less] = await store.commit([{ ...change, isRemovingFile: true }]);
          assert.equal(less?.kind, "replaced");
          const removals = kept.splice(0).map(async (id, index) => {
            const change = { collection: "things", id, at: 20, expect: "anything" } as const;
            const tooLarge = index % 5 === 0 ? [store.commit([put(`new-${id}`, large)])] : [];
            const refused = tooLarge.map((commit) => assert.rejects(commit, outageOf("full")));
            const [outcome] = await store.commit([{ kind: "remove", ...change }]);
            assert.equal(outcome?.kind, "removed");
            await Promise.all(refused);
          });
          await Promise.all(removals);
          assert.equal((await store.collection("things"))?.total, 0);
        }
      } finally {
        await store.close();
        execFileSync("umount", [path]);
      }
    }));
});

describe("deleted content on a full disk", () => {
  const word = "confidential";
  /** By another process: closing the file in this one would drop SQLite's locks. */
  const isFound = (path: string): boolean =>
    spawnSync("grep", ["-rqs", word, path, "--include=restante.*"]).status === 0;
  const freeBytes = (path: string): number => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };

  /** Deletes a small resource on a disk that has only so many bytes left. */
  const withDeleted = (bytes: number, test: (store: Store, path: string) => Promise<void>) =>
    inDirectory(async (path) => {
      if (mountSmall(path, 16)) return;
      const store = await openSqlite({ path, eraseAfterMs: 0 });
      try {
        await store.commit([create, put("secret", `{"x":"${word}"}`)]);
        // After the erasure of the start the WAL is empty: no later one gives more bytes back than it took.
        while ((await stat(join(path, "restante.db-wal"))).size > 0) await sleep(20);
        await writeFile(join(path, "ballast"), new Uint8Array(freeBytes(path) - bytes));
        const secret = { collection: "things", id: "secret", at: 20, expect: "anything" } as const;
        const [outcome] = await store.commit([{ kind: "remove", ...secret }]);
        assert.equal(outcome?.kind, "removed");
        await test(store, path);
      } finally {
        await store.close();
        execFileSync("umount", [path]);
      }
    });

  it("is erased while other writes are rejected", () =>
    withDeleted(360 * 1024, async (store, path) => {
      do {
        await assert.rejects(store.commit([put("refused")]), outageOf("full"));
        await sleep(20);
      } while (isFound(path));
    }));

  itLong("is erased when there is room again, without another write", () =>
    withDeleted(64 * 1024, async (_, path) => {
      // The first try takes the rest of the disk, which is not enough.
      while (freeBytes(path) > 4096) await sleep(20);
      await rm(join(path, "ballast"));
      while (isFound(path)) await sleep(20);
    }),
  );
});

describe("a database file that is moved away", () => {
  it("accepts no writes until it is back", () =>
    inDirectory(async (path) => {
      const file = join(path, "restante.db");
      const store = await openSqlite({ path });
      await store.commit([create, put("a")]);
      await rename(file, `${file}.away`);
      // The one that finds it out was committed to the file that is away.
      await assert.rejects(store.commit([put("b")]), (error) =>
        [outageOf("unknown"), outageOf("unavailable")].some((is) => is(error)),
      );
      assert.match((await store.ready()) ?? "", /moved or replaced/);
      await assert.rejects(store.commit([put("refused")]), outageOf("unavailable"));
      // Another file under the same name is no better.
      await writeFile(file, "");
      await assert.rejects(store.commit([put("refused")]), outageOf("unavailable"));
      assert.equal((await stat(file)).size, 0);
      await rename(`${file}.away`, file);
      assert.equal(await store.ready(), undefined);
      await store.commit([put("c")]);
      for (const id of ["a", "c"]) assert.equal((await store.find("things", id))?.id, id);
      assert.equal(await store.find("things", "refused"), undefined);
      await store.close();
    }));
});

describe("a disk that is gone", () => {
  it("is noticed by a server that only reads", () =>
    inDirectory(async (path) => {
      const file = join(path, "restante.db");
      const first = await openSqlite({ path });
      await first.commit([create, put("a", JSON.stringify({ x: "x".repeat(100_000) }))]);
      await first.close();
      const store = await openSqlite({ path });
      await truncate(file, 4_096);
      await rename(file, `${file}.away`);
      assert.equal(await store.ready(), undefined);
      await assert.rejects(async () => store.find("things", "a"), outageOf("unavailable"));
      assert.match((await store.ready()) ?? "", /moved or replaced/);
      await store.close();
    }));
});

describe("a bug in a change", () => {
  it("fails the whole batch, is not an outage, and does not stop the store", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      await store.commit([create]);
      const notATime = 1.5;
      await assert.rejects(
        store.commit([put("a"), put("b", "{}", notATime)]),
        (error) => error instanceof Error && !(error instanceof Outage),
      );
      assert.equal(await store.find("things", "a"), undefined);
      assert.equal(await store.ready(), undefined);
      await store.commit([put("a")]);
      assert.equal((await store.collection("things"))?.total, 1);
      await store.close();
    }));
});

describe("a writer thread that dies", () => {
  const script = new URL("./children/dying-writer.ts", import.meta.url);

  it("leaves pending writes unknown, and is replaced", () =>
    inDirectory(async (path) => {
      const writerClient = new WriterClient(prepareFile(path), script);
      await writerClient.commit([create, put("a")]);
      const underWay = [
        writerClient.commit([put("die")]),
        writerClient.commit([put("b")]),
        writerClient.commit([put("c")]),
      ];
      for (const { status, ...result } of await Promise.allSettled(underWay)) {
        assert.equal(status, "rejected");
        assert.ok("reason" in result && outageOf("unknown")(result.reason));
      }
      assert.match(writerClient.lastError ?? "", /stopped unexpectedly/);
      const [outcome] = await writerClient.commit([put("a")]);
      assert.equal(outcome?.kind, "taken");
      assert.equal(writerClient.lastError, undefined);
      await writerClient.close();
    }));
});

describe("the WAL", () => {
  it("does not grow without limit, also with many readers", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      const other = await openSqlite({ path });
      await store.commit([create]);
      const fields = `{"x":"${"x".repeat(500_000)}"}`;
      const rounds = runs(80, 100);
      for (let round = 0; round < rounds; round++) {
        const commit = store.commit([put(`id-${round}`, fields)]);
        for (let look = 0; look < 5; look++) {
          await other.slice("things", { offset: round, limit: 2, order: "-created" });
          await new Promise((resolve) => setImmediate(resolve));
        }
        await commit;
      }
      const logBytes = (await stat(join(path, "restante.db-wal"))).size;
      assert.ok(
        logBytes < 32 * 1024 * 1024,
        `${logBytes} bytes of log for ${rounds / 2} MB of changes`,
      );
      await store.close();
      await other.close();
    }));
});
