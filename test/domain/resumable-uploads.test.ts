// Resumable uploads without HTTP: expiry by a clock of the test, and the limits of a caller and of all.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { type ResumableUpload, ResumableUploads } from "../../src/domain/resumable-uploads.ts";
import { maxUploadsPerCaller } from "../../src/domain/upload-tally.ts";
import { system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { openDisk } from "../../src/store/disk/disk.ts";

const mebi = 1024 * 1024;
const lifetimeMs = 60_000;
const access = new CollectionAccess(system, "notes", undefined);
const request = { method: "POST", path: "/notes", query: "", headers: {} };

interface Setting {
  readonly uploads: ResumableUploads;
  readonly clock: { now: number };
  begin(length?: number, caller?: string): Promise<ResumableUpload | Problem>;
  begun(length?: number): Promise<ResumableUpload>;
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
  const begun = async (length?: number) => {
    const upload = await begin(length);
    assert.ok(!(upload instanceof Problem));
    return upload;
  };
  try {
    await test({ uploads, clock, begin, begun, second });
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
      const small = await begun();
      assert.equal(kindOf(await uploads.setLength(small, 5 * mebi)), "storage-full");
      const { bytes, reason } = await uploads.room(small);
      assert.deepEqual([bytes, reason], [2 * mebi, "budget"]);
      const done = { response: "done", isFinal: true, location: "/notes/1" };
      assert.equal(await uploads.complete(large, async () => done, String), "done");
      await uploads.discard(small);
      assert.equal(kindOf(await begin(10 * mebi)), "none");
    }));
});
