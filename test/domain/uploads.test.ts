// Files of which two writes at the same time decide: none is lost, and no bytes are left.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { Uploads } from "../../src/domain/uploads.ts";
import { everything } from "../../src/domain/view.ts";
import { Writes } from "../../src/domain/write/writes.ts";
import { MemoryBudget } from "../../src/lib/memory-budget.ts";
import type { StoredFile } from "../../src/model/file.ts";
import { Outage } from "../../src/model/outage.ts";
import { system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import type { Files } from "../../src/store/files.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

const access = new CollectionAccess(system, "notes", undefined, everything);

const whole = { kind: "put", id: "a", draft: { fields: "{}", id: undefined } } as const;

interface Opened {
  readonly store: Store;
  readonly files: Files;
  readonly uploads: Uploads;
  save(slot: string): Promise<StoredFile>;
  /** Refers to the files, and returns what a write returns. */
  put(files: readonly StoredFile[]): Promise<string>;
}

async function inStore(test: (opened: Opened) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "restante-"));
  const store = await openSqlite({ path: join(folder, "data") });
  try {
    await store.commit([{ kind: "create-collection", collection: "notes", at: 1 }]);
    const files = openDisk(join(folder, "files"));
    const uploads = new Uploads(store, files);
    const save = async (slot: string): Promise<StoredFile> => {
      const saved = await uploads.save(access, "create", bytes(), 100);
      assert.ok(typeof saved === "object" && "key" in saved);
      return { slot, name: "", type: "image/png", ...saved };
    };
    const put = async (these: readonly StoredFile[]): Promise<string> => {
      const text = JSON.stringify(these);
      const change = { kind: "put", collection: "notes", id: "a", fields: "{}", at: 1 } as const;
      const more = { expect: "anything" as const, ...(these.length > 0 && { files: text }) };
      await store.commit([{ ...change, ...more }]);
      return text;
    };
    await test({ store, files, uploads, save, put });
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
}

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("bytes");
}

/** The same store with other methods. */
const changed = (store: Store, methods: Partial<Store>): Store =>
  new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });

describe("a write with files", () => {
  for (const left of [[], ["b"], ["a", "b"]])
    it(`succeeds when another one has left ${left.length} of two files`, () =>
      inStore(async ({ files, uploads, save, put }) => {
        const both = [await save("a"), await save("b")];
        const write = async () => {
          const text = await put(both);
          const kept = both.filter(({ slot }) => left.includes(slot));
          await put(kept);
          await uploads.discard(both.filter((file) => !kept.includes(file)));
          return text;
        };
        assert.equal(await uploads.writeWithFiles(both, write, String), JSON.stringify(both));
        for (const { slot, key } of both)
          assert.equal((await files.size(key)) !== undefined, left.includes(slot));
      }));

  it("is not acknowledged when bytes are missing that its resource refers to", () =>
    inStore(async ({ files, uploads, save, put }) => {
      const both = [await save("a"), await save("b")];
      const write = async () => {
        const text = await put(both);
        await uploads.discard(both.slice(1));
        return text;
      };
      await assert.rejects(
        uploads.writeWithFiles(both, write, String),
        (error) => error instanceof Outage && error.reason === "unknown",
      );
      assert.notEqual(await files.size(both[0]?.key ?? ""), undefined);
    }));
});

describe("a write that replaces the whole resource", () => {
  const operations: Readonly<Record<string, (writes: Writes) => Promise<unknown>>> = {
    "a PUT": (writes) => writes.run(access, whole),
    "a DELETE": (writes) => writes.run(access, { kind: "remove", id: "a" }),
    "a line of an import": (writes) => writes.runEach(access, [whole]),
    "two lines of an import": (writes) => writes.runEach(access, [whole, whole]),
    "a batch": (writes) => writes.runAll(system, [{ ...whole, collection: "notes" }]),
  };
  for (const [name, run] of Object.entries(operations))
    it(`leaves no bytes of a file that came after its plan: ${name}`, () =>
      inStore(async ({ store, files, uploads, save, put }) => {
        await put([]);
        const file = await save("photo");
        let isPlanned = false;
        const late = changed(store, {
          commit: async (changes) => {
            if (!isPlanned) await put([file]);
            isPlanned = true;
            return store.commit(changes);
          },
        });
        const memory = new MemoryBudget(2 ** 20);
        const options = { clock: Date.now, maxBytes: 2 ** 20, base: "", memory, maxCascade: 0 };
        const writes = new Writes(late, new Access(store, Date.now), uploads, options);
        const result = await run(writes);
        assert.equal(
          [result].flat().some((each) => each instanceof Problem),
          false,
        );
        assert.equal(isPlanned, true);
        assert.equal((await store.findReferencedFiles([file.key])).size, 0);
        assert.equal(await files.size(file.key), undefined);
      }));
});
