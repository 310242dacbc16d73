// Copies and restores that wait for each other: the second one leaves what the first one has made.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { defaultConfig } from "../../src/server/config.ts";
import { openReplica } from "../../src/server/open-replica.ts";
import { openTarget } from "../../src/server/open-transfer.ts";
import { FolderLock } from "../../src/store/sqlite/lock.ts";
import { CannotLoad } from "../../src/store/transfer/transfer.ts";
import { inDirectory } from "../store/sqlite/test-directory.ts";

const storeId = "0".repeat(32);
const options = { isWhole: true, isOverwriting: false, findStore: async () => storeId };
const commands = {
  copy: {
    suffix: ".copying",
    open: (data: string) => openReplica({ ...defaultConfig, data }, storeId),
  },
  restore: {
    suffix: ".restoring",
    open: (data: string) => openTarget({ ...defaultConfig, data }, options),
  },
};

for (const [name, { suffix, open }] of Object.entries(commands))
  describe(`a ${name} that waits for another process`, () => {
    /** The other process makes the database while this one waits for its lock. */
    const waitFor = (context: TestContext, isThere: boolean) =>
      inDirectory(async (path) => {
        const data = join(path, "data");
        if (isThere) await mkdir(data);
        const lock = await FolderLock.take(isThere ? data : data + suffix);
        const tries = context.mock.method(FolderLock, "tryTake").mock;
        const rejected = assert.rejects(open(data), CannotLoad);
        while (tries.callCount() === 0) await setImmediate();
        await mkdir(data, { recursive: true });
        await writeFile(join(data, "restante.db"), "complete");
        lock.release();
        await rejected;
        assert.equal(await readFile(join(data, "restante.db"), "utf8"), "complete");
        const left = existsSync(data + suffix) ? await readdir(data + suffix) : [];
        assert.ok(!left.some((file) => file.includes("db")), left.join());
      });

    it("for a new folder leaves what is in it then", (context) => waitFor(context, false));
    it("for an empty folder leaves what is in it then", (context) => waitFor(context, true));

    it("finds the folder without a lock and an owner when it has its name", () =>
      inDirectory(async (path) => {
        const data = join(path, "data");
        const target = await open(data);
        if ("replica" in target) await target.replica.publish();
        await target.finish();
        assert.ok(!existsSync(data + suffix) && !existsSync(join(data, "restante.owner")));
        const lock = FolderLock.tryTake(data);
        assert.ok(lock);
        lock.release();
      }));
  });
