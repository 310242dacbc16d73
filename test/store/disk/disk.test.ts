// Files on disk: a saved file has the same bytes, and a failed one leaves nothing behind.
// @runtimes both

import assert from "node:assert/strict";
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { mkdir, mkdtemp, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { openDisk } from "../../../src/store/disk/disk.ts";
import type { Files } from "../../../src/store/files.ts";
import { filesContract } from "../files-contract.ts";
import { inDirectory } from "../sqlite/test-directory.ts";
import { bytesOf, countOpen, filesIn, hashOf, read, saveFile } from "./file-helpers.ts";

const kibi = 1024;

async function onDisk(test: (files: Files, folder: string) => Promise<void>): Promise<void> {
  await inDirectory(async (path) => {
    const folder = join(path, "deep", "files");
    await test(openDisk(folder), folder);
  });
}

filesContract("disk", async () => {
  const path = await mkdtemp(join(tmpdir(), "restante-files-"));
  const folder = join(path, "deep", "files");
  const longAgo = new Date(Date.now() - 3_600_000);
  return {
    files: openDisk(folder),
    second: () => openDisk(folder),
    count: async () => (existsSync(folder) ? (await filesIn(folder)).length : 0),
    age: (key) => utimes(pathOf(folder, key), longAgo, longAgo),
    destroy: () => rm(path, { recursive: true }),
  };
});

const pathOf = (folder: string, key: string): string => join(folder, key.slice(0, 2), key.slice(2));

describe("a saved file", () => {
  it("has its own key, and no permissions for others", () =>
    onDisk(async (files, folder) => {
      const bytes = bytesOf(1_000);
      const [one, other] = [await saveFile(files, bytes), await saveFile(files, bytes)];
      assert.notEqual(one.key, other.key);
      await files.remove([one.key]);
      assert.equal(hashOf(await read(files, other.key, 0, 1_000)), other.sha256);
      const path = pathOf(folder, other.key);
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      for (const directory of [dirname(path), folder, join(folder, "incoming")])
        assert.equal((await stat(directory)).mode & 0o777, 0o700);
    }));

  it("reads the next chunk only when the last is written", () =>
    onDisk(async (files, folder) => {
      let written = 0;
      const source = async function* () {
        for (let count = 0; count < 5; count++) {
          const [path = ""] = await filesIn(folder);
          assert.equal((await stat(join(folder, path))).size, written);
          yield new Uint8Array(50_000);
          written += 50_000;
        }
      };
      const kept = await files.save(source(), 250_000);
      assert.ok(kept !== "too-large" && kept.size === written);
    }));
});

describe("a range", () => {
  it("may be beyond four gibibytes", () =>
    onDisk(async (files, folder) => {
      const { key } = await saveFile(files, bytesOf(10));
      const size = 5 * kibi ** 3;
      await truncate(pathOf(folder, key), size);
      const back = await read(files, key, size - 100_000, size);
      assert.deepEqual(back, new Uint8Array(100_000));
      assert.deepEqual(await read(files, key, 0, 10), bytesOf(10));
    }));

  it("closes the file at its end, when it is cancelled, and when it fails", async (context) => {
    if (platform() !== "linux") return context.skip("open files are told by /proc");
    await onDisk(async (files, folder) => {
      const { key } = await saveFile(files, bytesOf(1_000_000));
      await read(files, key, 0, 1_000_000);
      await read(files, key, 5, 5);
      assert.equal(countOpen(folder), 0);
      const stream = await files.read(key, 0, 1_000_000);
      assert.ok(stream instanceof ReadableStream);
      const reader = stream.getReader();
      await reader.read();
      assert.equal(countOpen(folder), 1);
      await reader.cancel();
      assert.equal(countOpen(folder), 0);
      await assert.rejects(read(files, key, 0, 1_000_001));
      assert.equal(countOpen(folder), 0);
    });
  });

  it("of a truncated file fails instead of ending early", () =>
    onDisk(async (files, folder) => {
      const { key } = await saveFile(files, bytesOf(100_000));
      await truncate(pathOf(folder, key), 70_000);
      await assert.rejects(read(files, key, 0, 100_000), { reason: "damaged" });
    }));
});

describe("a file that is set aside and put back", () => {
  it("is found at any time", () =>
    onDisk(async (files) => {
      const { key, size } = await saveFile(files, bytesOf(10));
      const move = async () => {
        await files.setAside([key]);
        await files.settleAside(async (keys) => new Set(keys));
      };
      const lookAfter = async (turns: number) => {
        for (let turn = 0; turn < turns; turn++) await setImmediate();
        return files.size(key);
      };
      for (let round = 0; round < 50; round++) {
        const looking = Array.from({ length: 10 }, (_, turns) => lookAfter(turns));
        await move();
        for (const found of await Promise.all(looking)) assert.equal(found, size);
      }
    }));
});

describe("a file that is sent by the runtime", () => {
  const send = (path: string, start: number, end: number) =>
    new Blob([readFileSync(path).subarray(start, end)]);

  it("is the same range, if the file is complete", () =>
    onDisk(async (files, folder) => {
      const { key } = await saveFile(files, bytesOf(1_000));
      const sending = openDisk(folder, send);
      assert.ok(sending.send);
      const bytes = await (await sending.send(key, 10, 990))?.bytes();
      assert.deepEqual(bytes, bytesOf(1_000).slice(10, 990));
      assert.equal(await sending.send("0".repeat(32), 0, 1), undefined);
      await truncate(pathOf(folder, key), 500);
      await assert.rejects(sending.send(key, 0, 1_000), { reason: "damaged" });
    }));

  it("can be removed before the runtime opens it, however many are sent, and is closed after that", () =>
    onDisk(async (files, folder) => {
      if (platform() !== "linux") return;
      const many = await Promise.all(
        Array.from({ length: 600 }, (_, size) => saveFile(files, bytesOf(size))),
      );
      const paths = new Map<unknown, string>();
      const sending = openDisk(folder, (path) => {
        const body = new Blob();
        paths.set(body, path);
        return body;
      });
      await Promise.all(
        many.map(async ({ key, size }) => {
          const body = await sending.send?.(key, 0, size);
          unlinkSync(pathOf(folder, key));
          const bytes = readFileSync(paths.get(body) ?? "");
          assert.deepEqual(new Uint8Array(bytes), bytesOf(size));
        }),
      );
      while (countOpen(folder) > 0) await sleep(20);
    }));
});

describe("a failed upload leaves nothing behind", () => {
  it("when a source throws, at once or in the middle", () =>
    onDisk(async (files, folder) => {
      for (const count of [0, 1, 30]) {
        const error = new Error("gone");
        const source = async function* () {
          for (let sent = 0; sent < count; sent++) yield new Uint8Array(50_000);
          throw error;
        };
        await assert.rejects(files.save(source(), 1e9), (thrown) => thrown === error);
        assert.deepEqual(await filesIn(folder), []);
      }
      if (platform() === "linux") assert.equal(countOpen(folder), 0);
    }));

  it("when a stream is aborted", () =>
    onDisk(async (files, folder) => {
      const reason = new Error("aborted");
      let count = 0;
      const source = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (count++ === 10) controller.error(reason);
          else controller.enqueue(new Uint8Array(50_000));
        },
      });
      await assert.rejects(files.save(source, 1e9), (thrown) => thrown === reason);
      assert.deepEqual(await filesIn(folder), []);
    }));
});

describe("a missing file", () => {
  const unknownFlags = [
    "",
    "0".repeat(32),
    "0".repeat(31),
    "../incoming",
    "..",
    `..${"/".repeat(30)}`,
    `${"0".repeat(30)}/.`,
    `${"0".repeat(31)}\0`,
    "A".repeat(32),
    `${"0".repeat(32)}\n`,
    "/etc/passwd",
  ];

  it("cannot be read, and removing it is not an error", () =>
    onDisk(async (files, folder) => {
      const kept = await saveFile(files, bytesOf(10));
      const before = await filesIn(folder);
      for (const key of unknownFlags) {
        assert.equal(await files.read(key, 0, 1), undefined, key);
        await files.remove([key]);
      }
      assert.deepEqual(await filesIn(folder), before);
      await files.remove([...unknownFlags, kept.key, kept.key]);
      assert.deepEqual(await filesIn(folder), []);
      assert.equal(await files.read(kept.key, 0, 10), undefined);
    }));

  it("does not exist before the first file is saved", () =>
    onDisk(async (files) => {
      const key = "0".repeat(32);
      assert.equal(await files.read(key, 0, 1), undefined);
      await files.remove([key]);
      assert.equal(await files.sweep(async () => new Set(), 0), 0);
    }));

  it("that is a symbolic link is not followed", () =>
    onDisk(async (files, folder) => {
      const key = "ab".repeat(16);
      await mkdir(join(folder, "ab"), { recursive: true });
      await writeFile(join(folder, "secret"), "secret");
      await symlink(join(folder, "secret"), pathOf(folder, key));
      await assert.rejects(files.read(key, 0, 6));
    }));

  it("in a deleted folder does not prevent the next file", () =>
    onDisk(async (files, folder) => {
      await saveFile(files, bytesOf(10));
      await rm(folder, { recursive: true });
      await assert.rejects(saveFile(files, bytesOf(10)), { reason: "unavailable" });
      const kept = await saveFile(files, bytesOf(10));
      assert.equal(hashOf(await read(files, kept.key, 0, 10)), kept.sha256);
    }));
});
