// The reads for what a caller does not see: the same for hidden and missing resources, so that no time tells them apart.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import { Resources } from "../../src/domain/resources.ts";
import { ownRights } from "../../src/domain/rights/own-rights.ts";
import { Uploads } from "../../src/domain/uploads.ts";
import { Writes } from "../../src/domain/write/writes.ts";
import { MemoryBudget } from "../../src/lib/memory-budget.ts";
import type { Principal } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Store } from "../../src/store/store.ts";

const ann: Principal = {
  ...{ kind: "token", subject: "ann", scopes: ["notes:*"], roles: [], credential: undefined },
};
const grant = {
  ...{ name: "published in my projects", to: "token" },
  where: { status: "published", "project.owner": "$me" },
};
const definition = {
  references: { project: { collection: "projects" } },
  access: { read: [grant], update: [grant], delete: [grant] },
};

const unseen = {
  missing: undefined,
  "hidden by its own field": { status: "draft", project: "theirs" },
  "hidden by what it refers to": { status: "published", project: "theirs" },
  "hidden for it refers to nothing": { status: "published" },
};

/** A write is planned again after others were read. */
const planned = ["notes", "projects", "notes"];

describe("the reads for what a caller does not see", () => {
  let folder: string;
  let store: Store;
  let access: Access;
  let writes: Writes;
  let resources: Resources;
  /** The collections that were read, one after another as on a remote database. */
  let reads: string[];
  let watched: Store;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    store = await openSqlite({ path: join(folder, "data") });
    const put = (collection: string, id: string, fields: object) => ({
      ...({ kind: "put", collection, id, fields: JSON.stringify(fields) } as const),
      ...({ at: 1, expect: "nothing" } as const),
    });
    await store.commit([
      { kind: "create-collection", collection: "projects", at: 1 },
      { kind: "define", collection: "notes", definition: JSON.stringify(definition), at: 1 },
      put("projects", "theirs", { owner: "bob" }),
      ...Object.entries(unseen).flatMap(([name, fields]) =>
        fields ? [put("notes", name.replaceAll(" ", "-"), fields)] : [],
      ),
    ]);
    watched = new Proxy(store, {
      get(target, name) {
        // Without a version nothing is known from earlier requests.
        if (name === "version" || name === "tokenVersion") return undefined;
        if (name !== "find") return Reflect.get(target, name).bind(target);
        return async (collection: string, id: string) => {
          reads.push(collection);
          return target.find(collection, id);
        };
      },
    });
    access = new Access(watched, () => 1000);
    resources = new Resources(watched);
    const uploads = new Uploads(watched, openDisk(join(folder, "files")));
    const memory = new MemoryBudget(2 ** 24);
    const options = { clock: () => 1000, maxBytes: 2 ** 20, base: "", memory, maxCascade: 0 };
    writes = new Writes(watched, access, uploads, options);
  });
  beforeEach(() => {
    reads = [];
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const name of Object.keys(unseen)) {
    const id = name.replaceAll(" ", "-");
    const opened = () => access.collection(ann, "notes");

    it(`GET of what is ${name}`, async () => {
      const found = await resources.find(await opened(), id);
      assert.equal(found instanceof Problem && found.kind, "not-found");
      assert.deepEqual(reads, ["notes", "projects"]);
    });

    it(`PATCH of what is ${name}`, async () => {
      const patch = { kind: "patch", id, patchKind: "merge", patch: "{}" } as const;
      const done = await writes.run(await opened(), patch);
      assert.equal(done instanceof Problem && done.kind, "not-found");
      assert.deepEqual(reads, planned);
    });

    it(`DELETE of what is ${name}`, async () => {
      const done = await writes.run(await opened(), { kind: "remove", id });
      assert.equal(done instanceof Problem && done.kind, "not-found");
      assert.deepEqual(reads, planned);
    });

    it(`own rights on what is ${name}`, async () => {
      const rights = await ownRights(watched, access, ann, "notes", id);
      assert.equal(rights instanceof Problem && rights.kind, "not-found");
      assert.deepEqual(reads, ["notes", "projects"]);
    });
  }
});
