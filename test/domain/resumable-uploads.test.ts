// Resumable uploads without HTTP: expiry by a clock of the test, and the limits of a caller and of all.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { type ResumableUpload, ResumableUploads } from "../../src/domain/resumable-uploads.ts";
import { maxUploadsPerCaller, reservedMs } from "../../src/domain/upload-tally.ts";
import { everything } from "../../src/domain/view.ts";
import { type Principal, system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import type { Files } from "../../src/store/files.ts";
import { stopTimeHere } from "../clock.ts";
import { storesHere } from "../short-run.ts";
import { openFilesAt } from "../store/s3/open.ts";
import { S3Server } from "../store/s3/s3-server.ts";
import { mountSmall } from "../store/sqlite/test-directory.ts";

const mebi = 1024 * 1024;
const lifetimeMs = 3_600_000;
const request = { method: "POST", path: "/notes", query: "", headers: {} };

const ann: Principal = { ...system, kind: "user", subject: "ann" };
const bob: Principal = { ...ann, subject: "bob" };
const cy: Principal = { ...ann, subject: "cy" };
/** May create, as everyone does where the definition says so. */
const nobody: Principal = { ...system, kind: "anonymous" };
const accessOf = (principal: Principal) =>
  new CollectionAccess(principal, "notes", undefined, everything);

interface Setting {
  readonly uploads: ResumableUploads;
  readonly clock: { now: number };
  readonly folder: string;
  /** `caller` is the network of an anonymous caller. */
  begin(
    length?: number,
    principal?: Principal,
    caller?: string,
  ): ReturnType<ResumableUploads["create"]>;
  begun(length?: number, principal?: Principal, caller?: string): Promise<ResumableUpload>;
  /** Opens the same storage again, as another process does. */
  second(): ResumableUploads;
  /** As if nothing had arrived for so long. */
  age(id: string, ms: number): Promise<void>;
}

/** Where uploads are kept. */
interface Place {
  open(folder: string): Pick<Files, "partial">;
  age(folder: string, id: string, ms: number): Promise<void>;
}

const disk: Place = {
  open: (folder) => openDisk(join(folder, "files")),
  async age(folder, id, ms) {
    const directory = join(folder, "files", "partial", id);
    const time = new Date(Date.now() - ms);
    for (const name of [...(await readdir(directory)), "."])
      await utimes(join(directory, name), time, time);
  },
};

/** Each folder has a prefix of its own. */
const bucketOf = (server: () => S3Server): Place => ({
  open: (folder) => openFilesAt(server().url(`${basename(folder)}/`)),
  async age(folder, id, ms) {
    for (const key of await server().keys(`${basename(folder)}/partial/${id}/`))
      await server().age(key, ms);
  },
});

async function withUploads(
  place: Place,
  maxBytes: number,
  test: (setting: Setting) => Promise<void>,
) {
  const folder = await mkdtemp(join(tmpdir(), "restante-uploads-"));
  const clock = { now: Date.now() };
  const second = () =>
    new ResumableUploads(place.open(folder).partial, {
      ...{ clock: () => clock.now, lifetimeMs, maxBytes },
    });
  // By the clock of the test, which has not gone on since.
  const age: Setting["age"] = (id, ms) => place.age(folder, id, ms + Date.now() - clock.now);
  const uploads = second();
  const begin: Setting["begin"] = (length, principal = ann, caller = principal.subject ?? "") =>
    uploads.create(accessOf(principal), "create", {
      ...{ request, caller, maxBytes: 100 * mebi, length: length ?? null },
    });
  const begun: Setting["begun"] = async (...wanted) => {
    const upload = await begin(...wanted);
    assert.ok(!(upload instanceof Problem));
    return upload;
  };
  try {
    await test({ uploads, clock, folder, begin, begun, second, age });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Appends bytes, and returns the upload as its caller finds it then. */
async function appended(
  uploads: ResumableUploads,
  upload: ResumableUpload,
  size: number,
): Promise<ResumableUpload> {
  await uploads.append(
    upload,
    () => bytesOf(size),
    () => true,
  );
  const found = await uploads.find(ann, upload.id);
  return found instanceof Problem ? assert.fail(found.detail) : found;
}

async function* bytesOf(size: number): AsyncGenerator<Uint8Array> {
  yield randomBytes(size);
}

const kindOf = (result: unknown): string => (result instanceof Problem ? result.kind : "none");

for (const store of storesHere("disk", ["disk", "s3"]))
  describe(`an unfinished upload, on ${store}`, () => {
    let s3: S3Server;
    before(async () => {
      if (store === "s3") s3 = await S3Server.start();
    });
    after(() => s3?.destroy());
    const place = store === "s3" ? bucketOf(() => s3) : disk;
    // What an instance has counted stays valid.
    stopTimeHere();

    it("expires, but not while bytes arrive", () =>
      withUploads(place, 100 * mebi, async ({ uploads, clock, begun }) => {
        const upload = await begun();
        clock.now += lifetimeMs - 1_000;
        assert.equal(kindOf(await uploads.find(ann, upload.id)), "none");
        clock.now += 2_000 + lifetimeMs;
        assert.equal(kindOf(await uploads.find(ann, upload.id)), "not-found");
        clock.now = Date.now();
        const found = await appended(uploads, upload, 10);
        assert.ok(found.expiresAt >= upload.expiresAt - 1_000 && found.size === 10);
      }));

    it("counts for the limit of its caller until it is removed", () =>
      withUploads(place, 1_000 * mebi, async ({ uploads, begin, begun }) => {
        const first = await begun();
        for (let count = 1; count < maxUploadsPerCaller; count++) await begun();
        assert.equal(kindOf(await begin()), "conflict");
        assert.equal(kindOf(await begin(undefined, bob)), "none");
        assert.equal(await uploads.remove(ann, first.id), undefined);
        assert.equal(kindOf(await begin()), "none");
        assert.equal(kindOf(await begin()), "conflict");
      }));

    it("counts with its length, also where another process began it", () =>
      withUploads(place, 10 * mebi, async ({ uploads, begin, begun, second }) => {
        const large = await begun(5 * mebi);
        await begun(2 * mebi, cy);
        assert.equal(kindOf(await begin(4 * mebi, bob)), "storage-full");
        const other = second();
        const wanted = { request, caller: "bob", maxBytes: 100 * mebi, length: 4 * mebi };
        assert.equal(kindOf(await other.create(accessOf(bob), "create", wanted)), "storage-full");
        const small = await begun(undefined, bob);
        assert.equal(kindOf(await uploads.setLength(small, 4 * mebi)), "storage-full");
        assert.deepEqual(await uploads.room(small), { bytes: 2 * mebi, reason: "budget" });
        const done = { response: "done", isFinal: true, location: "/notes/1" };
        assert.equal(await uploads.complete(large, async () => done, String), "done");
        await uploads.discard(small);
        assert.equal(kindOf(await begin(5 * mebi)), "none");
      }));

    it("leaves half of the bytes to others", () =>
      withUploads(place, 10 * mebi, async ({ uploads, begin, begun, second }) => {
        assert.equal(kindOf(await begin(5 * mebi + 1)), "storage-full");
        const unknown = await begun();
        assert.equal(kindOf(await begin(4 * mebi + 1)), "storage-full");
        await begun(3 * mebi);
        for (const all of [uploads, second()]) {
          assert.deepEqual(await all.room(unknown), { bytes: mebi, reason: "subject" });
          assert.equal(kindOf(await all.setLength(unknown, 3 * mebi)), "storage-full");
        }
        assert.equal(kindOf(await begin(2 * mebi)), "storage-full");
        assert.equal(kindOf(await begin(mebi)), "none");
        assert.equal(kindOf(await begin(5 * mebi, bob)), "none");
        assert.equal(kindOf(await begin(mebi, cy)), "storage-full");
      }));

    it("leaves three quarters of the bytes to others, for all callers without a token", () =>
      withUploads(place, 20 * mebi, async ({ uploads, begin, begun, second }) => {
        assert.equal(kindOf(await begin(5 * mebi + 1, nobody, "one")), "storage-full");
        const unknown = await begun(undefined, nobody, "one");
        await begun(3 * mebi, nobody, "two");
        for (const all of [uploads, second()])
          assert.deepEqual(await all.room(unknown), { bytes: mebi, reason: "anonymous" });
        assert.equal(kindOf(await begin(2 * mebi, nobody, "three")), "storage-full");
        assert.equal(kindOf(await begin(mebi, nobody, "three")), "none");
        assert.equal(kindOf(await begin(undefined, nobody, "four")), "storage-full");
        assert.equal(kindOf(await begin(10 * mebi)), "none");
      }));

    it("counts with what has arrived, five minutes after its last byte", () =>
      withUploads(place, 10 * mebi, async ({ uploads, age, begun, second }) => {
        const { id } = await appended(uploads, await begun(5 * mebi), 2 * mebi);
        await begun(4 * mebi, bob);
        const beginAs = async (principal: Principal, length: number) => {
          const wanted = { request, caller: "cy", maxBytes: 100 * mebi, length };
          return kindOf(await second().create(accessOf(principal), "create", wanted));
        };
        await age(id, reservedMs - 60_000);
        assert.equal(await beginAs(cy, 2 * mebi), "storage-full");
        await age(id, reservedMs + 60_000);
        assert.equal(await beginAs(cy, 4 * mebi), "none");
        // It stays, and goes on when there is room for the other 3 MiB.
        const found = await uploads.find(ann, id);
        assert.ok(!(found instanceof Problem) && found.size === 2 * mebi);
        assert.equal(kindOf(await uploads.room(found)), "storage-full");
      }));

    it("has its length reserved again when it goes on late", () =>
      withUploads(place, 10 * mebi, async ({ uploads, age, begin, begun }) => {
        const { id } = await begun(5 * mebi);
        await age(id, reservedMs + 60_000);
        const found = await uploads.find(ann, id);
        assert.ok(!(found instanceof Problem));
        assert.deepEqual(await uploads.room(found), { bytes: 5 * mebi, reason: "length" });
        assert.equal(kindOf(await begin(mebi)), "storage-full");
        assert.equal(kindOf(await begin(5 * mebi, bob)), "none");
        assert.equal(kindOf(await begin(mebi, cy)), "storage-full");
      }));
  });

describe("an upload that is complete while the disk is full", () => {
  for (const [when, act] of [
    ["the next sweep", async ({ uploads }: Setting) => void (await uploads.sweep())],
    ["the next upload", async ({ begun }: Setting) => void (await begun())],
  ] as const)
    it(`gives its bytes back with ${when}`, (context) =>
      withUploads(disk, 100 * mebi, async (setting) => {
        const { uploads, begun, folder } = setting;
        const reason = mountSmall(folder);
        if (reason) return context.skip(reason);
        try {
          const upload = await begun();
          await appended(uploads, upload, 100_000);
          const errors: unknown[] = [];
          const fill = async () => {
            await writeFile(join(folder, "ballast"), new Uint8Array(50 * mebi)).catch(String);
            return { response: "done", isFinal: true, location: "/notes/1" };
          };
          const done = await uploads.complete(upload, fill, (error) => errors.push(error));
          assert.deepEqual([done, errors.length], ["done", 1]);
          await rm(join(folder, "ballast"));
          await act(setting);
          const found = await uploads.find(ann, upload.id);
          assert.ok(!(found instanceof Problem));
          assert.deepEqual([found.isFinished, found.location], [true, "/notes/1"]);
          assert.equal(existsSync(join(folder, "files", "partial", upload.id)), false);
        } finally {
          execFileSync("umount", [folder]);
        }
      }));
});
