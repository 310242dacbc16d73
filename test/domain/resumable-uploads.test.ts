// Resumable uploads without HTTP: expiry by a clock of the test, and the limits of a caller and of all.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { type ResumableUpload, ResumableUploads } from "../../src/domain/resumable-uploads.ts";
import { maxUploadsPerCaller } from "../../src/domain/upload-tally.ts";
import { system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { mountSmall } from "../store/sqlite/test-directory.ts";

const mebi = 1024 * 1024;
const lifetimeMs = 60_000;
const access = new CollectionAccess(system, "notes", undefined);
const request = { method: "POST", path: "/notes", query: "", headers: {} };

interface Setting {
  readonly uploads: ResumableUploads;
  readonly clock: { now: number };
  readonly folder: string;
  begin(length?: number, caller?: string): Promise<ResumableUpload | Problem>;
  begun(length?: number, caller?: string): Promise<ResumableUpload>;
  /** Opens the same storage again, as another process does. */
  second(): ResumableUploads;
}

async function withUploads(maxBytes: number, test: (setting: Setting) => Promise<void>) {
  const folder = await mkdtemp(join(tmpdir(), "restante-uploads-"));
  const clock = { now: Date.now() };
  const second = () =>
    new ResumableUploads(openDisk(join(folder, "files")).partial, {
      ...{ clock: () => clock.now, lifetimeMs, maxBytes },
    });
  const uploads = second();
  const begin: Setting["begin"] = (length, caller = "ann") =>
    uploads.create(access, "create", {
      ...{ request, caller, maxBytes: 100 * mebi, length: length ?? null },
    });
  const begun: Setting["begun"] = async (length, caller) => {
    const upload = await begin(length, caller);
    assert.ok(!(upload instanceof Problem));
    return upload;
  };
  try {
    await test({ uploads, clock, folder, begin, begun, second });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function* bytesOf(size: number): AsyncGenerator<Uint8Array> {
  yield randomBytes(size);
}

const kindOf = (result: unknown): string => (result instanceof Problem ? result.kind : "none");

describe("an unfinished upload", () => {
  it("expires, but not while bytes arrive", () =>
    withUploads(100 * mebi, async ({ uploads, clock, begun }) => {
      const upload = await begun();
      clock.now += lifetimeMs - 1_000;
      assert.equal(kindOf(await uploads.find(system, upload.id)), "none");
      clock.now += 2_000 + lifetimeMs;
      assert.equal(kindOf(await uploads.find(system, upload.id)), "not-found");
      clock.now = Date.now();
      await uploads.append(
        upload,
        () => bytesOf(10),
        () => true,
      );
      const found = await uploads.find(system, upload.id);
      assert.ok(!(found instanceof Problem));
      assert.ok(found.expiresAt >= upload.expiresAt - 1_000 && found.size === 10);
    }));

  it("counts for the limit of its caller until it is removed", () =>
    withUploads(1_000 * mebi, async ({ uploads, begin, begun }) => {
      const first = await begun();
      for (let count = 1; count < maxUploadsPerCaller; count++) await begun();
      assert.equal(kindOf(await begin()), "conflict");
      assert.equal(kindOf(await begin(undefined, "bob")), "none");
      assert.equal(await uploads.remove(system, first.id), undefined);
      assert.equal(kindOf(await begin()), "none");
      assert.equal(kindOf(await begin()), "conflict");
    }));

  it("counts with its length, also where another process began it", () =>
    withUploads(10 * mebi, async ({ uploads, begin, begun, second }) => {
      const large = await begun(7 * mebi);
      assert.equal(kindOf(await begin(4 * mebi)), "storage-full");
      const other = second();
      const wanted = { request, caller: "bob", maxBytes: 100 * mebi, length: 4 * mebi };
      assert.equal(kindOf(await other.create(access, "create", wanted)), "storage-full");
      const small = await begun(undefined, "bob");
      assert.equal(kindOf(await uploads.setLength(small, 5 * mebi)), "storage-full");
      const { bytes, reason } = await uploads.room(small);
      assert.deepEqual([bytes, reason], [2 * mebi, "budget"]);
      const done = { response: "done", isFinal: true, location: "/notes/1" };
      assert.equal(await uploads.complete(large, async () => done, String), "done");
      await uploads.discard(small);
      assert.equal(kindOf(await begin(10 * mebi)), "none");
    }));

  it("leaves half of the bytes to others when its caller has several", () =>
    withUploads(10 * mebi, async ({ uploads, begin, begun, second }) => {
      const unknown = await begun();
      assert.equal((await uploads.room(unknown)).bytes, 9 * mebi);
      await begun(3 * mebi);
      for (const all of [uploads, second()]) {
        assert.deepEqual(await all.room(unknown), { bytes: mebi, reason: "share" });
        assert.equal(kindOf(await all.setLength(unknown, 3 * mebi)), "storage-full");
      }
      assert.equal(kindOf(await begin(2 * mebi)), "storage-full");
      assert.equal(kindOf(await begin(mebi)), "none");
      assert.equal(kindOf(await begin(5 * mebi, "bob")), "none");
      assert.equal(kindOf(await begin(mebi, "cy")), "storage-full");
    }));
});

describe("an upload that is complete while the disk is full", () => {
  for (const [when, act] of [
    ["the next sweep", async ({ uploads }: Setting) => void (await uploads.sweep())],
    ["the next upload", async ({ begun }: Setting) => void (await begun())],
  ] as const)
    it(`gives its bytes back with ${when}`, (context) =>
      withUploads(100 * mebi, async (setting) => {
        const { uploads, begun, folder } = setting;
        const reason = mountSmall(folder);
        if (reason) return context.skip(reason);
        try {
          const upload = await begun();
          await uploads.append(
            upload,
            () => bytesOf(100_000),
            () => true,
          );
          const errors: unknown[] = [];
          const fill = async () => {
            await writeFile(join(folder, "ballast"), new Uint8Array(50 * mebi)).catch(String);
            return { response: "done", isFinal: true, location: "/notes/1" };
          };
          const done = await uploads.complete(upload, fill, (error) => errors.push(error));
          assert.deepEqual([done, errors.length], ["done", 1]);
          await rm(join(folder, "ballast"));
          await act(setting);
          const found = await uploads.find(system, upload.id);
          assert.ok(!(found instanceof Problem));
          assert.deepEqual([found.isFinished, found.location], [true, "/notes/1"]);
          assert.equal(existsSync(join(folder, "files", "partial", upload.id)), false);
        } finally {
          execFileSync("umount", [folder]);
        }
      }));
});
