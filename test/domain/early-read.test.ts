// A resource is read while the sets of its caller are read: on a remote database one round trip less.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import type { CollectionAccess } from "../../src/domain/collection-access.ts";
import { Resources } from "../../src/domain/resources.ts";
import type { Principal } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { accessName } from "../../src/model/schemas/access.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

const ann: Principal = {
  ...{ kind: "token", subject: "ann", scopes: ["notes:*"], roles: [], credential: undefined },
};
const team = { name: "team", to: "token", where: { team: { in: "$my.teams" } } };
const teams = { collection: "memberships", where: { user: "$me" }, field: "team" };

describe("a resource with rules by sets", () => {
  let folder: string;
  let store: Store;
  let access: Access;
  let resources: Resources;
  /** The reads as they begin, and `state` when that of the sets' collection has ended. */
  let reads: string[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    store = await openSqlite({ path: join(folder, "data") });
    const put = (collection: string, id: string, fields: object) => ({
      ...({ kind: "put", collection, id, fields: JSON.stringify(fields) } as const),
      ...({ at: 1, expect: "nothing" } as const),
    });
    const define = (collection: string, definition: object) =>
      ({ kind: "define", collection, definition: JSON.stringify(definition), at: 1 }) as const;
    await store.commit([
      define("memberships", { indexed: ["user"] }),
      define(accessName, { sets: { teams } }),
      define("notes", { access: { read: [team], update: [team] } }),
      put("memberships", "1", { user: "ann", team: "a" }),
      put("notes", "ours", { team: "a" }),
      put("notes", "theirs", { team: "b" }),
    ]);
    const remote = new Proxy(store, {
      get(target, name) {
        if (name === "version" || name === "tokenVersion") return undefined;
        if (name === "find")
          return async (collection: string, id: string) => {
            reads.push(`find ${id}`);
            return target.find(collection, id);
          };
        if (name === "collection")
          return async (collection: string) => {
            await new Promise(setImmediate);
            reads.push("state");
            return target.collection(collection);
          };
        return Reflect.get(target, name).bind(target);
      },
    });
    access = new Access(remote, () => 1000);
    resources = new Resources(remote);
  });
  beforeEach(() => {
    reads = [];
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(permission: "read" | "update", id: string): Promise<CollectionAccess> {
    const opened = await access.open(ann, "notes", permission, id);
    if (opened instanceof Problem) assert.fail(opened.detail);
    return opened;
  }

  for (const [id, kind] of [
    ["ours", undefined],
    ["theirs", "not-found"],
    ["missing", "not-found"],
  ] as const)
    it(`is read at the same time: ${id}`, async () => {
      const found = await resources.find(await open("read", id), id);
      assert.equal(found instanceof Problem ? found.kind : undefined, kind);
      assert.deepEqual(reads, [`find ${id}`, "state"]);
    });

  it("is read once early, and again when it is asked for again", async () => {
    const opened = await open("read", "ours");
    await resources.find(opened, "ours");
    await resources.find(opened, "ours");
    assert.deepEqual(reads, ["find ours", "state", "find ours"]);
  });

  it("is not read early for another id", async () => {
    const found = await resources.find(await open("read", "ours"), "theirs");
    assert.equal(found instanceof Problem && found.kind, "not-found");
    assert.deepEqual(reads, ["find ours", "state", "find theirs"]);
  });

  it("is not read early for a write, which must see the state that it changes", async () => {
    await open("update", "ours");
    assert.deepEqual(reads, ["state"]);
  });
});
