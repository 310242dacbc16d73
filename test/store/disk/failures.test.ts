// Disks that are full, read-only or failing: nothing false is acknowledged, nothing is left behind, and writes recover.
// @runtimes both

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { FileOutage, Outage } from "../../../src/model/outage.ts";
import { openDisk } from "../../../src/store/disk/disk.ts";
import { newKey } from "../../../src/store/file-key.ts";
import {
  canInject,
  inDirectory,
  mountSmall,
  startChildUnder,
  withFault,
} from "../sqlite/test-directory.ts";
import { bytesOf, filesIn, hashOf, read, saveFile } from "./file-helpers.ts";

const outageOf =
  (reason: Outage["reason"]) =>
  (error: unknown): boolean =>
    error instanceof Outage && error.reason === reason;

describe("a full disk", () => {
  it("stores nothing of what does not fit, and continues when it does", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      try {
        const files = openDisk(join(path, "files"));
        const kept = await saveFile(files, bytesOf(1_000_000));
        const { bfree } = await statfs(path);
        for (let attempt = 0; attempt < 5; attempt++)
          await assert.rejects(saveFile(files, bytesOf(8_000_000)), outageOf("full"));
        assert.equal((await statfs(path)).bfree, bfree);
        assert.equal((await filesIn(path)).length, 1);
        const other = await saveFile(files, bytesOf(500_000));
        for (const { key, size, sha256 } of [kept, other])
          assert.equal(hashOf(await read(files, key, 0, size)), sha256);
      } finally {
        execFileSync("umount", [path]);
      }
    }));

  it("leaves nothing of an upload that cannot be described", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      const ballast = join(path, "ballast");
      try {
        const { partial } = openDisk(join(path, "files"));
        const [id, other] = [newKey(), newKey()];
        await partial.create(id, "first");
        await assert.rejects(writeFile(ballast, new Uint8Array(20_000_000)));
        const stored = await filesIn(path);
        const large = "a".repeat(100_000);
        for (let attempt = 0; attempt < 3; attempt++) {
          await assert.rejects(partial.create(other, large), outageOf("full"));
          await assert.rejects(partial.describe(id, large), outageOf("full"));
          await assert.rejects(partial.finish(id, large), outageOf("full"));
        }
        assert.deepEqual(await filesIn(path), stored);
        assert.deepEqual(await readdir(join(path, "files", "partial")), [id]);
        assert.equal((await partial.find(id))?.description, "first");
        await rm(ballast);
        await partial.create(other, large);
        assert.equal((await partial.find(other))?.description, large);
      } finally {
        execFileSync("umount", [path]);
      }
    }));
});

describe("a disk that cannot be written", () => {
  it("stores nothing, can be read, and recovers", (context) =>
    inDirectory(async (path) => {
      const reason = mountSmall(path);
      if (reason) return context.skip(reason);
      const remount = (how: string) =>
        execFileSync("mount", ["-o", `remount,${how}`, path], { stdio: "ignore" });
      try {
        const files = openDisk(join(path, "files"));
        const kept = await saveFile(files, bytesOf(1_000));
        remount("ro");
        await assert.rejects(saveFile(files, bytesOf(1_000)), outageOf("unavailable"));
        await assert.rejects(files.remove([kept.key]), outageOf("unavailable"));
        assert.equal(hashOf(await read(files, kept.key, 0, 1_000)), kept.sha256);
        remount("rw");
        await saveFile(files, bytesOf(1_000));
        assert.equal((await filesIn(path)).length, 2);
      } finally {
        execFileSync("umount", [path]);
      }
    }));
});

describe("a file where the folder should be", () => {
  it("is reported as the cause", () =>
    inDirectory(async (path) => {
      const folder = join(path, "files");
      await writeFile(folder, "");
      await assert.rejects(saveFile(openDisk(folder), bytesOf(1)), outageOf("unavailable"));
      await assert.rejects(
        saveFile(openDisk(join(folder, "a")), bytesOf(1)),
        outageOf("unavailable"),
      );
    }));

  it("is reported as the cause of all that fails", () =>
    inDirectory(async (path) => {
      const files = openDisk(join(path, "files"));
      const { key } = await saveFile(files, bytesOf(10));
      await rm(join(path, "files"), { recursive: true });
      await writeFile(join(path, "files"), "");
      const all = async () => new Set<string>();
      for (const failing of [
        () => read(files, key, 0, 10),
        () => files.size(key),
        () => files.remove([key]),
        () => files.touch([key]),
        () => files.sweep(all, 0),
        () => Array.fromAsync(files.orphans(all, 0)),
        () => files.partial.create(newKey(), ""),
        () => files.partial.find(newKey()),
        () => files.partial.remove(newKey()),
        () => Array.fromAsync(files.partial.list()),
        () => files.partial.sweep(0, 0),
      ])
        await assert.rejects(Promise.resolve(failing()), FileOutage, String(failing));
    }));
});

describe("a disk that fails to sync", () => {
  it("fails these files and no others, and nothing of them is left", (context) =>
    inDirectory(async (path) => {
      if (!canInject()) return context.skip("strace is not here or not allowed");
      const strace = withFault("fsync,fdatasync", "error=EIO:when=12+7");
      const child = startChildUnder(
        strace,
        new URL("./children/keep.ts", import.meta.url),
        join(path, "files"),
        "60",
      );
      assert.equal(await child.gone, 0);
      const kept = child.lines
        .filter((line) => line.startsWith("kept "))
        .map((line) => line.slice(5));
      const failed = child.lines.filter((line) => line === "unavailable");
      assert.ok(kept.length > 20 && failed.length > 5);
      assert.equal(kept.length + failed.length, 60);
      const names = kept.map((key) => `files/${key.slice(0, 2)}/${key.slice(2)}`);
      assert.deepEqual(await filesIn(path), names.sort());
    }));
});
