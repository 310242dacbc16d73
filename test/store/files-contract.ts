// The contract of file storage: every implementation of `Files` must pass it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Files } from "../../src/store/files.ts";
import { runs } from "../seeds.ts";
import { bytesOf, hashOf, inChunks, read, saveFile } from "./disk/file-helpers.ts";
import { partialContract } from "./partial-contract.ts";

export interface FileStorage {
  readonly files: Files;
  /** Opens the same storage again, as another process does. */
  second(): Files;
  /** How many files are stored, including those that are being written. */
  count(): Promise<number>;
  /** Makes a stored file an hour old. */
  age(key: string): Promise<void>;
  destroy(): Promise<void>;
}

type Case = (storage: FileStorage) => Promise<void>;

const kibi = 1024;
const hour = 3_600_000;
const none = async (): Promise<ReadonlySet<string>> => new Set();

/** Not every storage can make files old. */
export function filesContract(
  name: string,
  open: () => Promise<FileStorage>,
  { canAge = true } = {},
): void {
  const test = (title: string, run: Case) =>
    it(title, async () => {
      const storage = await open();
      try {
        await run(storage);
      } finally {
        await storage.destroy();
      }
    });
  describe(`${name}: a saved file`, () => savedFiles(test));
  describe(`${name}: a range`, () => ranges(test));
  describe(`${name}: a failed upload leaves nothing`, () => failures(test));
  describe(`${name}: a file that is set aside`, () => setAside(test));
  describe(`${name}: a sweep`, () => {
    if (canAge) sweeps(test);
    test("of empty storage does nothing", async ({ files }) => {
      assert.equal(await files.sweep(none, 0), 0);
    });
  });
  describe(`${name}: an incomplete upload`, () => partialContract(test));
}

type Test = (title: string, run: Case) => void;

function savedFiles(test: Test): void {
  for (const size of [0, 1, 64 * kibi - 1, 64 * kibi, 64 * kibi + 1, runs(6_000_000, 20_000_000)])
    test(`has the same ${size} bytes`, async ({ files, count }) => {
      const bytes = bytesOf(size);
      const saved = await saveFile(files, bytes);
      assert.deepEqual(saved, { key: saved.key, size, sha256: hashOf(bytes) });
      assert.equal(hashOf(await read(files, saved.key, 0, size)), saved.sha256);
      assert.equal(await count(), 1);
    });

  test("can be read as a whole, and saved under the same key elsewhere", async (storage) => {
    const { files, count } = storage;
    const bytes = bytesOf(600_000);
    const { key, sha256 } = await saveFile(files, bytes);
    const opened = await files.open(key);
    assert.ok(opened);
    assert.equal(opened.size, bytes.byteLength);
    const pieces: Uint8Array[] = [];
    for await (const piece of opened.bytes) pieces.push(piece);
    assert.equal(hashOf(Buffer.concat(pieces)), sha256);
    assert.equal(await files.saveAs(key, inChunks(bytes), sha256), false);
    await files.remove([key]);
    assert.equal(await files.open(key), undefined);
    assert.equal(await files.saveAs(key, inChunks(bytes), sha256), true);
    assert.equal(hashOf(await read(files, key, 0, bytes.byteLength)), sha256);
    const other = key.replace(/./, (digit) => (digit === "0" ? "1" : "0"));
    await assert.rejects(
      files.saveAs(other, inChunks(bytesOf(3)), sha256),
      /does not have the bytes/,
    );
    await assert.rejects(files.saveAs("../x", inChunks(bytes), sha256), /not the key/);
    assert.equal(await count(), 1);
  });

  test("that is opened is read to its end when it is removed meanwhile", async ({ files }) => {
    const bytes = bytesOf(600_000);
    const { key } = await saveFile(files, bytes);
    const opened = await files.open(key);
    await files.remove([key]);
    const pieces: Uint8Array[] = [];
    for await (const piece of opened?.bytes ?? []) pieces.push(piece);
    assert.equal(hashOf(Buffer.concat(pieces)), hashOf(bytes));
  });

  test("can come in chunks of any size", async ({ files }) => {
    const bytes = bytesOf(3_000_001);
    for (const size of [7_919, 1_000_003, bytes.byteLength]) {
      const saved = await files.save(inChunks(bytes, size), bytes.byteLength);
      assert.ok(saved !== "too-large");
      assert.equal(saved.sha256, hashOf(bytes));
      assert.equal(hashOf(await read(files, saved.key, 0, saved.size)), saved.sha256);
    }
    const withEmptyChunks = async function* () {
      yield* [bytesOf(0), bytesOf(1), bytesOf(0), bytesOf(2)];
    };
    const saved = await files.save(withEmptyChunks(), 3);
    assert.ok(saved !== "too-large" && saved.size === 3);
  });

  test("has its own key, also with the same bytes", async ({ files }) => {
    const bytes = bytesOf(1_000);
    const [one, other] = [await saveFile(files, bytes), await saveFile(files, bytes)];
    assert.notEqual(one.key, other.key);
    await files.remove([one.key]);
    assert.equal(await files.read(one.key, 0, 1_000), undefined);
    assert.equal(hashOf(await read(files, other.key, 0, 1_000)), other.sha256);
  });

  test("can be read and removed by another process", async ({ files, second }) => {
    const saved = await saveFile(files, bytesOf(100));
    const other = second();
    assert.equal(hashOf(await read(other, saved.key, 0, 100)), saved.sha256);
    await other.remove([saved.key]);
    assert.equal(await files.read(saved.key, 0, 100), undefined);
  });

  test("can be one of many at once", async ({ files, count }) => {
    const all = Array.from({ length: 60 }, (_, index) => bytesOf(index * 5_003));
    const saved = await Promise.all(all.map((bytes) => saveFile(files, bytes)));
    const back = await Promise.all(saved.map(({ key, size }) => read(files, key, 0, size)));
    assert.deepEqual(back.map(hashOf), all.map(hashOf));
    assert.equal(await count(), all.length);
  });

  test("is confirmed while it exists, and an outage when it does not", async ({ files }) => {
    const saved = await saveFile(files, bytesOf(10));
    await files.confirm([saved.key]);
    await files.touch([saved.key]);
    await files.remove([saved.key]);
    // The commit that references the file has been made already, so its result is not "nothing stored".
    await assert.rejects(files.confirm([saved.key]), { reason: "unknown" });
    await assert.rejects(files.touch([saved.key]), { reason: "unavailable" });
  });

  test("is not found under any other key", async ({ files, count }) => {
    const saved = await saveFile(files, bytesOf(10));
    const others = ["", "0".repeat(32), "0".repeat(31), "..", "../incoming", "/etc/passwd"];
    const strange = [`${"0".repeat(31)}\0`, `${saved.key}\n`, saved.key.toUpperCase()];
    const unknown = [...others, ...strange].filter((key) => key !== saved.key);
    for (const key of unknown) {
      assert.equal(await files.read(key, 0, 1), undefined, JSON.stringify(key));
      await files.remove([key]);
    }
    assert.equal(await count(), 1);
    await files.remove([...unknown, saved.key, saved.key]);
    assert.equal(await count(), 0);
  });
}

function ranges(test: Test): void {
  test("is exactly what was asked for", async ({ files }) => {
    const bytes = bytesOf(200_000);
    const { key } = await saveFile(files, bytes);
    const edges = [0, 1, 65_535, 65_536, 65_537, 131_072, 199_999, 200_000];
    for (const start of edges)
      for (const end of edges.filter((each) => each >= start)) {
        const back = await read(files, key, start, end);
        assert.equal(back.byteLength, end - start);
        assert.equal(hashOf(back), hashOf(bytes.subarray(start, end)));
      }
  });

  test("is read to its end when the file is removed meanwhile", async ({ files }) => {
    const { key, sha256 } = await saveFile(files, bytesOf(1_000_000));
    const stream = await files.read(key, 0, 1_000_000);
    await files.remove([key]);
    assert.ok(stream);
    assert.equal(hashOf(new Uint8Array(await new Response(stream).arrayBuffer())), sha256);
  });

  test("fails when the file is shorter", async ({ files }) => {
    const { key } = await saveFile(files, bytesOf(1_000));
    await assert.rejects(read(files, key, 0, 1_001));
  });
}

function failures(test: Test): void {
  test("over the limit", async ({ files, count }) => {
    for (const [size, limit] of [
      [1, 0],
      [100_001, 100_000],
      [500_000, 60_000],
    ] as const) {
      assert.equal(await files.save(inChunks(bytesOf(size)), limit), "too-large");
      assert.equal(await count(), 0);
    }
    const saved = await files.save(inChunks(bytesOf(100_000)), 100_000);
    assert.ok(saved !== "too-large");
  });

  test("and a source over the limit is closed", async ({ files }) => {
    let isClosed = false;
    const source = async function* () {
      try {
        for (;;) yield new Uint8Array(1_000);
      } finally {
        isClosed = true;
      }
    };
    assert.equal(await files.save(source(), 10_000), "too-large");
    assert.ok(isClosed);
  });

  test("when the source fails, at once or in the middle", async ({ files, count }) => {
    for (const chunks of [0, 1, 30]) {
      const error = new Error("the client left");
      const source = async function* () {
        for (let sent = 0; sent < chunks; sent++) yield new Uint8Array(50_000);
        throw error;
      };
      await assert.rejects(files.save(source(), 1e9), (thrown) => thrown === error);
      assert.equal(await count(), 0);
    }
  });
}

/** A file that is set aside is removed only when nothing refers to it any more. */
function setAside(test: Test): void {
  test("is still read, and put back if it is referenced", async ({ files, second, count }) => {
    const bytes = bytesOf(500);
    const [kept, removed] = [await saveFile(files, bytes), await saveFile(files, bytes)];
    await files.setAside([kept.key, removed.key, "no key", "0".repeat(32)]);
    assert.deepEqual(await read(second(), removed.key, 0, 500), bytes);
    // Another process goes on after a crash.
    await second().settleAside(async (keys) => new Set(keys.filter((key) => key === kept.key)));
    assert.deepEqual(await read(files, kept.key, 0, 500), bytes);
    assert.equal(await files.read(removed.key, 0, 500), undefined);
    assert.equal(await count(), 1);
    await files.settleAside(none);
    assert.deepEqual(await read(files, kept.key, 0, 500), bytes);
  });
}

function sweeps(test: Test): void {
  test("removes only old files that no resource references", async ({ files, age, count }) => {
    const [referenced, unreferenced, young] = [
      await saveFile(files, bytesOf(10)),
      await saveFile(files, bytesOf(20)),
      await saveFile(files, bytesOf(30)),
    ];
    for (const { key } of [referenced, unreferenced]) await age(key);
    const asked: string[] = [];
    const findReferenced = async (keys: readonly string[]) => {
      asked.push(...keys);
      return new Set([referenced.key]);
    };
    assert.equal(await files.sweep(findReferenced, hour / 2), 1);
    for (const { key } of [referenced, unreferenced]) assert.ok(asked.includes(key));
    assert.equal(await files.read(unreferenced.key, 0, 20), undefined);
    for (const { key, size } of [referenced, young])
      assert.equal((await read(files, key, 0, size)).byteLength, size);
    assert.equal(await count(), 2);
  });

  test("leaves an old file that was touched", async ({ files, age }) => {
    const saved = await saveFile(files, bytesOf(10));
    await age(saved.key);
    await files.touch([saved.key]);
    assert.equal(await files.sweep(none, hour / 2), 0);
    assert.equal(hashOf(await read(files, saved.key, 0, 10)), saved.sha256);
  });

  test("removes nothing when it cannot know what is referenced", async ({ files, age, count }) => {
    const saved = await saveFile(files, bytesOf(10));
    await age(saved.key);
    const outage = new Error("the store is not available");
    await assert.rejects(files.sweep(() => Promise.reject(outage), hour / 2));
    assert.equal(await count(), 1);
  });
}
