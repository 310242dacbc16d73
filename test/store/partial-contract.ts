// The contract of incomplete uploads: every implementation of `PartialUploads` must pass it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Files } from "../../src/store/files.ts";
import { type PartialUploads, UploadEnded } from "../../src/store/partial-uploads.ts";
import { runs } from "../seeds.ts";
import { bytesOf, hashOf, inChunks } from "./disk/file-helpers.ts";

interface Storage {
  readonly files: Files;
  /** Opens the same storage again, as another process does. */
  second(): Files;
  /** How many files are stored, including those that are being written. */
  count(): Promise<number>;
}

type Test = (title: string, run: (storage: Storage) => Promise<void>) => void;

const hour = 3_600_000;
const newId = (): string => randomBytes(16).toString("hex");

async function created(partial: PartialUploads, description = "{}"): Promise<string> {
  const id = newId();
  await partial.create(id, description);
  return id;
}

async function contentOf(partial: PartialUploads, id: string): Promise<Uint8Array> {
  const opened = await partial.open(id);
  assert.ok(opened);
  const pieces: Uint8Array[] = [];
  for await (const piece of opened.bytes) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  assert.equal(bytes.byteLength, opened.size);
  return bytes;
}

const sizeOf = async (partial: PartialUploads, id: string): Promise<number | undefined> =>
  (await partial.find(id))?.size;

async function listed(partial: PartialUploads): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of partial.list()) ids.push(id);
  return ids.sort();
}

/** A source that waits before its last chunks until it is told to go on. */
function heldSource(first: Uint8Array, rest: Uint8Array) {
  const [isReached, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const bytes = async function* () {
    yield first;
    isReached.resolve();
    await isReleased.promise;
    yield rest;
  };
  return { bytes: bytes(), reached: isReached.promise, release: isReleased.resolve };
}

/** Clients choose a part of a description. These are also the texts of errors of S3. */
const anyTexts = [
  "<Error><Code>NoSuchBucket</Code></Error>",
  "<Error>",
  "NoSuchBucket",
  "<Key>&amp;",
];

export function partialContract(test: Test): void {
  test("goes on when it is not for the one who asks", async ({ files: { partial }, second }) => {
    const id = await created(partial, "mine");
    const [first, rest] = [randomBytes(70_000), randomBytes(10)];
    const { bytes, reached, release } = heldSource(first, rest);
    const appending = partial.append(id, 0, bytes);
    await reached;
    assert.equal(await second().partial.find(id, (text) => text === "other"), undefined);
    release();
    assert.equal(await appending, 70_010);
    assert.equal((await second().partial.find(id, (text) => text === "mine"))?.size, 70_010);
  });

  test("has any text as its description", async ({ files: { partial } }) => {
    for (const text of anyTexts) {
      const id = await created(partial, text);
      assert.equal((await partial.find(id))?.description, text);
      await partial.describe(id, `${text} again`);
      assert.equal((await partial.find(id))?.description, `${text} again`);
      assert.deepEqual(await listed(partial), [id]);
      await partial.finish(id, text);
      assert.equal((await partial.find(id))?.description, text);
    }
  });

  test("grows by appends, and is read as a whole", async ({ files: { partial }, second }) => {
    const bytes = bytesOf(3_000_001);
    const id = await created(partial, '{"a":"ü"}');
    assert.equal(await sizeOf(partial, id), 0);
    let offset = 0;
    for (const size of [1, 0, 99_999, 1_500_000, 1_400_001]) {
      const piece = bytes.subarray(offset, offset + size);
      const user = offset % 2 === 0 ? partial : second().partial;
      assert.equal(await user.append(id, offset, inChunks(piece, 64_000)), offset + size);
      offset += size;
      assert.equal(await sizeOf(second().partial, id), offset);
    }
    assert.equal(hashOf(await contentOf(partial, id)), hashOf(bytes));
    const found = await partial.find(id);
    assert.deepEqual([found?.description, found?.isFinished], ['{"a":"ü"}', false]);
    assert.ok(Math.abs((found?.changedAt ?? 0) - Date.now()) < hour);
  });

  test("is appended to at its end only", async ({ files: { partial } }) => {
    const id = await created(partial);
    await partial.append(id, 0, inChunks(bytesOf(10)));
    for (const offset of [0, 9, 11])
      assert.equal(await partial.append(id, offset, inChunks(bytesOf(3))), "mismatch");
    assert.equal(await partial.append(newId(), 0, inChunks(bytesOf(3))), "missing");
    assert.equal(await partial.append("../x", 0, inChunks(bytesOf(3))), "missing");
    assert.deepEqual(await contentOf(partial, id), Buffer.from(bytesOf(10)));
  });

  test("keeps what has arrived when the source fails", async ({ files: { partial } }) => {
    const id = await created(partial);
    const error = new Error("the client left");
    const source = async function* () {
      yield bytesOf(50_000);
      throw error;
    };
    await assert.rejects(partial.append(id, 0, source()), (thrown) => thrown === error);
    assert.equal(await sizeOf(partial, id), 50_000);
    assert.equal(await partial.append(id, 50_000, inChunks(bytesOf(7))), 50_007);
    assert.deepEqual(await contentOf(partial, id), Buffer.concat([bytesOf(50_000), bytesOf(7)]));
  });

  test("keeps nothing of an append that is not valid", async ({ files: { partial } }) => {
    const id = await created(partial);
    await partial.append(id, 0, inChunks(bytesOf(10)));
    assert.equal(await partial.append(id, 10, inChunks(bytesOf(70_000)), () => false), "invalid");
    assert.equal(await sizeOf(partial, id), 10);
    assert.equal(await partial.append(id, 10, inChunks(bytesOf(5)), () => true), 15);
    assert.deepEqual(await contentOf(partial, id), Buffer.concat([bytesOf(10), bytesOf(5)]));
  });

  for (const ended of ["found", "appended to"])
    test(`ends an append when it is ${ended} elsewhere`, async ({ files: { partial }, second }) => {
      const id = await created(partial);
      const held = heldSource(bytesOf(40_000), bytesOf(30_000));
      const former = partial.append(id, 0, held.bytes);
      await held.reached;
      // What the former append has stored counts, or nothing of it: both are offsets to go on from.
      const offset = (await sizeOf(second().partial, id)) ?? -1;
      assert.ok(offset === 40_000 || offset === 0, `${offset}`);
      const whole = Buffer.concat([bytesOf(40_000).subarray(0, offset), bytesOf(9)]);
      if (ended === "appended to")
        assert.equal(await second().partial.append(id, offset, inChunks(bytesOf(9))), offset + 9);
      held.release();
      assert.equal(await former, "superseded");
      if (ended === "found")
        assert.equal(await second().partial.append(id, offset, inChunks(bytesOf(9))), offset + 9);
      assert.deepEqual(await contentOf(partial, id), whole);
    });

  test("has one writer, whoever begins at the same time", async ({ files, second }) => {
    const users = [files.partial, second().partial, second().partial, files.partial];
    for (let round = 0; round < 5; round++) {
      const id = await created(files.partial);
      const results = await Promise.all(
        users.map((user, index) => user.append(id, 0, inChunks(bytesOf(1_000 + index), 100))),
      );
      const content = await contentOf(files.partial, id);
      assert.equal(await sizeOf(files.partial, id), content.byteLength);
      for (const result of results)
        if (typeof result === "number")
          assert.deepEqual(content.subarray(0, result), Buffer.from(bytesOf(result)));
    }
  });

  test("gets another description", async ({ files: { partial } }) => {
    const id = await created(partial, "one");
    await partial.append(id, 0, inChunks(bytesOf(10)));
    await partial.describe(id, "two");
    const found = await partial.find(id);
    assert.deepEqual([found?.description, found?.size], ["two", 10]);
    const missing = newId();
    await partial.describe(missing, "three");
    assert.equal(await partial.find(missing), undefined);
  });

  test("is finished: without bytes, and no longer listed", async (storage) => {
    const { files, second, count } = storage;
    const [id, other] = [await created(files.partial), await created(files.partial)];
    await files.partial.append(id, 0, inChunks(bytesOf(10)));
    assert.deepEqual(await listed(second().partial), [id, other].sort());
    await files.partial.finish(id, "done");
    assert.deepEqual(await listed(second().partial), [other]);
    const found = await second().partial.find(id);
    assert.deepEqual([found?.description, found?.size, found?.isFinished], ["done", 0, true]);
    assert.equal(await files.partial.append(id, 10, inChunks(bytesOf(1))), "missing");
    assert.equal(await files.partial.open(id), undefined);
    await files.partial.remove(id);
    await files.partial.remove(other);
    assert.equal(await files.partial.find(id), undefined);
    assert.equal(await count(), 0);
  });

  test("is found at every moment while it is finished", async ({ files: { partial }, second }) => {
    for (let round = 0; round < runs(5, 300); round++) {
      const id = await created(partial);
      await partial.append(id, 0, inChunks(bytesOf(10)));
      const finish = partial.finish(id, "done");
      for (let isFinished = false; !isFinished; ) {
        const found = await second().partial.find(id);
        assert.ok(found !== undefined && found.changedAt > Date.now() - hour, "it was not found");
        isFinished = found.isFinished;
      }
      await finish;
    }
  });

  test("ends once: completed or cancelled", async ({ files: { partial }, second }) => {
    for (let round = 0; round < 4; round++) {
      const id = await created(partial);
      await partial.append(id, 0, inChunks(bytesOf(10)));
      const users = [partial, second().partial];
      const ends = users.flatMap((user) => [
        user.end(id, "completed", 10),
        user.end(id, "cancelled"),
      ]);
      const [completed, cancelled, again, alsoCancelled] = await Promise.all(ends);
      const isCompleted = completed === true || again === true;
      const isCancelled = cancelled === true || alsoCancelled === true;
      assert.notEqual(isCompleted, isCancelled);
      assert.equal(await sizeOf(second().partial, id), isCompleted ? 10 : undefined);
      assert.notEqual(typeof (await partial.append(id, 10, inChunks(bytesOf(1)))), "number");
      await partial.remove(id);
    }
    assert.equal(await partial.end(newId(), "cancelled"), false);
    assert.equal(await partial.end("../x", "completed", 0), false);
  });

  test("is completed only as it is", async ({ files: { partial }, second, count }) => {
    const id = await created(partial);
    await partial.append(id, 0, inChunks(bytesOf(10)));
    assert.equal(await partial.end(id, "completed", 9), false);
    const held = heldSource(bytesOf(10), bytesOf(10));
    const append = partial.append(id, 10, held.bytes);
    await held.reached;
    assert.equal(await second().partial.end(id, "completed", 10), false);
    held.release();
    assert.equal(await append, 30);
    assert.equal(await partial.end(id, "completed", 30), true);
    assert.equal(await second().partial.end(id, "completed", 30), true);
    assert.equal(await partial.append(id, 30, inChunks(bytesOf(1))), "superseded");
    assert.equal(await second().partial.end(id, "cancelled"), false);
    await partial.reopen(id);
    assert.equal((await contentOf(partial, id)).byteLength, 30);
    assert.equal(await second().partial.end(id, "cancelled"), true);
    await partial.remove(id);
    assert.equal(await count(), 0);
  });

  test("says while it is read that it has ended", async ({ files: { partial }, second }) => {
    const id = await created(partial);
    for (const offset of [0, 10]) await partial.append(id, offset, inChunks(bytesOf(10)));
    const bytes = (await partial.open(id))?.bytes[Symbol.asyncIterator]();
    await bytes?.next();
    await second().partial.finish(id, "{}");
    const rest = async () => {
      while (!(await bytes?.next())?.done);
    };
    await assert.rejects(rest, UploadEnded);
  });

  test("is removed while it is appended to", async ({ files: { partial }, second, count }) => {
    const id = await created(partial);
    const held = heldSource(bytesOf(10), bytesOf(10));
    const append = partial.append(id, 0, held.bytes);
    await held.reached;
    await second().partial.remove(id);
    held.release();
    assert.equal(await append, "superseded");
    assert.equal(await partial.find(id), undefined);
    for (const strange of [id, newId(), "", "../files", "x".repeat(32)])
      await partial.remove(strange);
    assert.equal(await count(), 0);
  });

  test("is swept when it is old, finished or not", async ({ files, second, count }) => {
    const { partial } = files;
    const [old, done] = [await created(partial), await created(partial)];
    await partial.append(old, 0, inChunks(bytesOf(10)));
    await partial.finish(done, "{}");
    assert.equal(await second().partial.sweep(hour, hour), 0);
    assert.equal(await sizeOf(partial, old), 10);
    assert.equal(await second().partial.sweep(hour, 0), 0);
    assert.equal(await partial.find(done), undefined);
    // The files of resources are another matter.
    assert.equal(await files.sweep(async () => new Set(), 0), 0);
    assert.equal(await sizeOf(partial, old), 10);
    assert.equal(await second().partial.sweep(0, 0), 1);
    assert.equal(await count(), 0);
    assert.equal(await partial.sweep(0, 0), 0);
  });

  test("is swept at once when it has ended", async ({ files: { partial }, second, count }) => {
    const [done, cancelled, other] = [newId(), newId(), newId()];
    const create = async (id: string) => {
      await partial.create(id, "{}");
      await partial.append(id, 0, inChunks(bytesOf(10)));
    };
    await Promise.all([done, cancelled, other].map(create));
    // As a process leaves them that is killed before it has removed the bytes.
    await partial.finish(done, "{}");
    await create(done);
    await partial.end(cancelled, "cancelled");
    assert.deepEqual(await listed(partial), [other]);
    assert.equal(await second().partial.sweep(hour, hour), 0);
    assert.equal((await partial.find(done))?.isFinished, true);
    await create(done);
    assert.equal(await second().partial.sweep(hour, 0), 0);
    assert.equal(await partial.find(done), undefined);
    assert.equal(await sizeOf(partial, other), 10);
    await partial.remove(other);
    assert.equal(await count(), 0);
  });
}
