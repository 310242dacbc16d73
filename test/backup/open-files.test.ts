// Backups and copies close the files that they have opened, also those that they could not read.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createBackupFolder } from "../../src/backup/folder.ts";
import { FileCopier } from "../../src/copy/files.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { bytesOf, countOpen, saveFile } from "../store/disk/file-helpers.ts";
import { inDirectory } from "../store/sqlite/test-directory.ts";
import { Place, upload, withApp } from "./stores.ts";

const options = { skip: platform() !== "linux" };

async function withFile(
  test: (path: string, from: ReturnType<typeof openDisk>, key: string) => Promise<void>,
): Promise<void> {
  await inDirectory(async (path) => {
    const from = openDisk(join(path, "from"));
    const { key } = await saveFile(from, bytesOf(1_000_000));
    await test(path, from, key);
    assert.equal(countOpen(join(path, "from")), 0);
  });
}

describe("no file stays open", options, () => {
  it("when a backup cannot be written", () =>
    withFile(async (path, from, key) => {
      const to = join(path, "to");
      const writer = await createBackupFolder(to, "store");
      await writeFile(join(to, "restante.incoming"), "a file where a folder is expected");
      await assert.rejects(writer.writeFile(() => from.open(key)));
    }));

  it("when a copy cannot be written", () =>
    withFile(async (path, from, key) => {
      const to = join(path, "to");
      await mkdir(to);
      await writeFile(join(to, "incoming"), "a file where a folder is expected");
      const copier = new FileCopier(() => ({ from, to: openDisk(to) }));
      const file = { key, sha256: "", slot: "a", name: "a", type: "a/b", size: 1_000_000 };
      await assert.rejects(copier.check(file));
    }));

  it("when a backup is restored where its files are already", () =>
    Place.run(
      () => Promise.reject(new Error("not needed")),
      async (place) => {
        const source = await place.config("sqlite");
        await withApp(source, async (app) => void (await upload(app, "some bytes")));
        await place.backUp(source);
        await place.restore(source, { isOverwriting: true });
        assert.equal(countOpen(place.path("backups")), 0);
      },
    ));
});
