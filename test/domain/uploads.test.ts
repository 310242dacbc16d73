// Files of a write that another write replaces or removes before the first is acknowledged.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CollectionAccess } from "../../src/domain/collection-access.ts";
import { Uploads } from "../../src/domain/uploads.ts";
import type { StoredFile } from "../../src/model/file.ts";
import { Outage } from "../../src/model/outage.ts";
import { system } from "../../src/model/principal.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import type { Files } from "../../src/store/files.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

const access = new CollectionAccess(system, "notes", undefined);

describe("a write with files", () => {
  let folder: string;
  let store: Store;
  let files: Files;
  let uploads: Uploads;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    store = await openSqlite({ path: join(folder, "data") });
    await store.commit([{ kind: "create-collection", collection: "notes", at: 1 }]);
    files = openDisk(join(folder, "files"));
    uploads = new Uploads(store, files);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("bytes");
  }

  async function save(slot: string): Promise<StoredFile> {
    const saved = await uploads.save(access, "create", bytes(), 100);
    assert.ok(typeof saved === "object" && "key" in saved);
    return { slot, name: "", type: "image/png", ...saved };
  }

  /** Refers to the files, and returns what a write returns. */
  async function put(these: readonly StoredFile[]): Promise<string> {
    const text = JSON.stringify(these);
    const change = { kind: "put", collection: "notes", id: "a", fields: "{}", at: 1 } as const;
    const expect = "anything" as const;
    await store.commit([{ ...change, expect, ...(these.length > 0 && { files: text }) }]);
    return text;
  }

  for (const left of [[], ["b"], ["a", "b"]])
    it(`succeeds when another one has left ${left.length} of two files`, async () => {
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
    });

  it("is not acknowledged when bytes are missing that its resource refers to", async () => {
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
  });
});
