// The write path: what it reads and commits, and what it does when rules or state change in between.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import type { CollectionAccess, CollectionPermission } from "../../src/domain/collection-access.ts";
import { Uploads } from "../../src/domain/uploads.ts";
import { Writes } from "../../src/domain/write/writes.ts";
import { MemoryBudget } from "../../src/lib/memory-budget.ts";
import { turnBytes } from "../../src/lib/turns.ts";
import type { IdempotencyKey } from "../../src/model/idempotency-key.ts";
import { type Principal, system } from "../../src/model/principal.ts";
import { Problem } from "../../src/model/problem.ts";
import { keyOf } from "../../src/model/query/sort-key.ts";
import { openDisk } from "../../src/store/disk/disk.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../src/store/store.ts";
import { largestTurn } from "../turns-of.ts";

const holderOf = (subject: string, ...scopes: readonly string[]): Principal => {
  return { kind: "token", subject, scopes, roles: [], credential: undefined };
};
const writer = holderOf("writer", "notes:*");

const draft = (fields: object) => ({ fields: JSON.stringify(fields), id: undefined });
const create = (fields: object = {}) => ({ kind: "create", draft: draft(fields) }) as const;
const put = (id: string, fields: object = {}) =>
  ({ kind: "put", id, draft: draft(fields) }) as const;
const patch = (id: string, fields: object) =>
  ({ kind: "patch", id, patchKind: "merge", patch: JSON.stringify(fields) }) as const;
const upsert = (fields: object) =>
  ({ kind: "upsert", field: "sku", draft: draft(fields) }) as const;

const define = (definition: object, collection = "notes"): Change => {
  return { kind: "define", collection, definition: JSON.stringify(definition), at: Date.now() };
};
const strict = { schema: { type: "object", required: ["text"] } };

describe("the write path", () => {
  let folder: string;
  let store: Store;
  let access: Access;
  let uploads: Uploads;
  let memory: MemoryBudget;
  let writes: Writes;
  let calls: string[];
  /** Runs once, before the next commit. */
  let beforeCommit: (() => Promise<unknown>) | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    store = await openSqlite({ path: join(folder, "data") });
    calls = [];
    beforeCommit = undefined;
    const watched = new Proxy(store, {
      get(target, name) {
        return async (...args: readonly unknown[]) => {
          calls.push(String(name));
          const before = name === "commit" ? beforeCommit : undefined;
          if (before !== undefined) beforeCommit = undefined;
          await before?.();
          return Reflect.get(target, name).apply(target, args);
        };
      },
    });
    access = new Access(watched, Date.now);
    uploads = new Uploads(watched, openDisk(join(folder, "files")));
    memory = new MemoryBudget(2 ** 24);
    const options = { clock: Date.now, maxBytes: 2 ** 20, base: "", memory, maxCascade: 0 };
    writes = new Writes(watched, access, uploads, options);
    await store.commit([define({})]);
  });

  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function open(
    permission: CollectionPermission,
    principal = writer,
    name = "notes",
  ): Promise<CollectionAccess> {
    const opened = await access.open(principal, name, permission);
    assert.ok(!(opened instanceof Problem), `${opened instanceof Problem && opened.detail}`);
    return opened;
  }

  const resourceOf = (result: Awaited<ReturnType<typeof writes.run>>) => {
    assert.ok(!(result instanceof Problem) && result.kind === "written", JSON.stringify(result));
    return result.resource;
  };

  it("reads the rules once and commits once; a POST reads no state", async () => {
    const { id } = resourceOf(await writes.run(await open("create"), create()));
    assert.deepEqual(calls.splice(0), ["rules", "commit"]);
    await writes.run(await open("put"), put(id));
    assert.deepEqual(calls.splice(0), ["rules", "find", "commit"]);
    await writes.run(await open("update"), patch(id, { text: "x" }));
    assert.deepEqual(calls.splice(0), ["rules", "find", "commit"]);
    await writes.run(await open("delete"), { kind: "remove", id });
    assert.deepEqual(calls.splice(0), ["rules", "find", "commit"]);
    await writes.runEach(await open("create"), [create(), create()]);
    assert.deepEqual(calls.splice(0), ["rules", "commit"]);
    await writes.runAll(writer, [
      { ...create(), collection: "notes" },
      { ...create(), collection: "notes" },
    ]);
    assert.deepEqual(calls.splice(0), ["rules", "commit"]);
  });

  it("stores nothing when the rules reject it", async () => {
    await store.commit([define(strict)]);
    const rejected = await writes.run(await open("create"), create());
    assert.ok(rejected instanceof Problem && rejected.kind === "invalid-body");
    assert.deepEqual(calls, ["rules"]);
  });

  it("validates again when the rules change before the commit", async () => {
    beforeCommit = () => store.commit([define(strict)]);
    const rejected = await writes.run(await open("create"), create());
    assert.ok(rejected instanceof Problem && rejected.kind === "invalid-body");
    assert.equal((await store.collection("notes"))?.total, 0);
    // The rules of the access are old, so the first attempt is made with them.
    const old = await open("create");
    await store.commit([define({})]);
    resourceOf(await writes.run(old, create({ text: "x" })));
    assert.equal((await store.collection("notes"))?.total, 1);
  });

  it("checks the permission again when the rules change before the commit", async () => {
    await store.commit([define({ access: { create: "public" } })]);
    const stranger = holderOf("stranger");
    const opened = await open("create", stranger);
    beforeCommit = () => store.commit([define({})]);
    const rejected = await writes.run(opened, create());
    assert.ok(rejected instanceof Problem && rejected.kind === "insufficient-scope");
    assert.equal((await store.collection("notes"))?.total, 0);
  });

  it("neither creates nor replaces for a PUT without that scope when the state changes", async () => {
    const opened = await open("put");
    await writes.run(opened, put("a"));
    const updater = await open("put", holderOf("updater", "notes:update"));
    beforeCommit = () => writes.run(opened, { kind: "remove", id: "a" });
    const created = await writes.run(updater, put("a"));
    assert.ok(created instanceof Problem && created.kind === "insufficient-scope");
    const creator = await open("put", holderOf("creator", "notes:create"));
    beforeCommit = () => writes.run(opened, put("a", { n: 1 }));
    const replaced = await writes.run(creator, put("a"));
    assert.ok(replaced instanceof Problem && replaced.kind === "insufficient-scope");
    assert.equal((await store.find("notes", "a"))?.fields, '{"n":1}');
  });

  it("does not skip a definition that is set while a collection is created", async () => {
    const opened = await open("create", system, "new");
    assert.equal(opened.rules, undefined);
    beforeCommit = () => store.commit([define(strict, "new")]);
    const rejected = await writes.run(opened, create());
    assert.ok(rejected instanceof Problem && rejected.kind === "invalid-body");
    assert.equal((await store.collection("new"))?.total, 0);
    resourceOf(await writes.run(opened, create({ text: "x" })));
  });

  it("creates a missing collection for an admin only, with every kind of write", async () => {
    const others = await open("create");
    await store.commit([{ kind: "drop", collection: "notes", isEmptyOnly: false }]);
    for (const rejected of [
      await writes.run(others, create()),
      (await writes.runEach(others, [create()]))[0],
    ])
      assert.ok(rejected instanceof Problem && rejected.kind === "not-found");
    assert.equal(await store.collection("notes"), undefined);
    const admin = holderOf("admin", "admin");
    resourceOf(await writes.run(await open("create", admin, "one"), create()));
    await writes.runEach(await open("create", admin, "two"), [create(), create()]);
    await writes.runAllIn(await open("create", admin, "three"), [create(), create()]);
    await writes.runAll(admin, [
      { ...create(), collection: "four" },
      { ...put("a"), collection: "five" },
    ]);
    const totals = (await store.collections()).map(({ name, total }) => [name, total]);
    assert.deepEqual(Object.fromEntries(totals), { one: 1, two: 2, three: 2, four: 1, five: 1 });
  });

  it("patches again when the state changes before the commit", async () => {
    const opened = await open("put");
    await writes.run(opened, put("a", { n: 1 }));
    beforeCommit = () => {
      const fields = '{"n":1,"other":true}';
      const at = Date.now();
      return store.commit([
        { kind: "put", collection: "notes", id: "a", fields, at, expect: "anything" },
      ]);
    };
    const { fields } = resourceOf(await writes.run(await open("update"), patch("a", { n: 2 })));
    assert.equal(fields, '{"n":2,"other":true}');
  });

  it("puts again when what it keeps of the state changes before the commit", async () => {
    const properties = { price: { readOnly: true }, pin: { writeOnly: true } };
    await store.commit([define({ schema: { properties } })]);
    const [admin, others] = [await open("put", system), await open("put")];
    await writes.run(admin, put("a", { price: 1 }));
    beforeCommit = () => writes.run(admin, put("a", { price: 2 }));
    const { fields } = resourceOf(await writes.run(others, put("a", { n: 1 })));
    assert.deepEqual(JSON.parse(fields), { n: 1, price: 2 });
  });

  it("upserts another resource when the value moves before the commit", async () => {
    await store.commit([define({ unique: ["sku"] })]);
    const opened = await open("put");
    await writes.run(opened, put("a", { sku: "A" }));
    beforeCommit = () => writes.run(opened, put("a", { sku: "B" }));
    const { id } = resourceOf(await writes.run(opened, upsert({ sku: "A" })));
    assert.notEqual(id, "a");
    assert.equal((await store.find("notes", "a"))?.fields, '{"sku":"B"}');
  });

  it("removes every file that a PUT replaces, also one that came before the commit", async () => {
    const opened = await open("put");
    const withFile = async () => {
      const saved = await uploads.save(opened, "put", Readable.from([Buffer.from("x")]), 1);
      assert.ok(typeof saved === "object" && !(saved instanceof Problem));
      const file = { ...saved, slot: "scan", name: "scan", type: "text/plain" };
      return { ...put("a"), files: [file] };
    };
    await writes.run(opened, await withFile());
    beforeCommit = async () => writes.run(opened, await withFile());
    resourceOf(await writes.run(opened, put("a")));
    assert.equal(await uploads.sweep(0), 0);
  });

  describe("with several lines of an import for one resource", () => {
    const lines = [
      upsert({ sku: "A", n: 1 }),
      upsert({ sku: "B", n: 2 }),
      upsert({ sku: "A", n: 3 }),
      upsert({ sku: "B", n: 4 }),
    ];
    const kinds = async (operations: Parameters<Writes["runEach"]>[1]) =>
      (await writes.runEach(await open("put"), operations)).map((result) =>
        result instanceof Problem ? result.kind : result.isNew ? "created" : "replaced",
      );
    const stored = async () =>
      (await store.slice("notes", { offset: 0, limit: 10, order: "created" }))?.resources.map(
        ({ fields }) => JSON.parse(fields),
      );
    /** Another client replaces A before each of the next commits. */
    const overtake = (times: number): void => {
      if (times === 0) return;
      beforeCommit = async () => {
        const entry = { field: "sku", key: keyOf("text", "A") };
        const id = (await store.findUnique("notes", entry))?.id ?? "chosen";
        const fields = '{"sku":"A","n":"other"}';
        const at = Date.now();
        const change = { kind: "put", collection: "notes", id, fields, at, expect: "anything" };
        await store.commit([change as Change]);
        overtake(times - 1);
      };
    };

    beforeEach(() => store.commit([define({ unique: ["sku", "code"] })]));

    it("writes the last one last, in one commit", async () => {
      assert.deepEqual(await kinds(lines), ["created", "created", "replaced", "replaced"]);
      assert.equal(calls.filter((call) => call === "commit").length, 1);
      assert.deepEqual(await stored(), [
        { sku: "A", n: 3 },
        { sku: "B", n: 4 },
      ]);
    });

    for (const times of [1, 2, 3, 7])
      it(`writes the last one last when another client comes in between, ${times} times`, async () => {
        for (const isNew of [true, false]) {
          overtake(times);
          const [first, second, ...rest] = await kinds(lines);
          assert.deepEqual([first, ...rest], ["replaced", "replaced", "replaced"]);
          assert.equal(second, isNew ? "created" : "replaced");
          const found = (await stored())?.toSorted((one, other) => one.n - other.n);
          assert.deepEqual(found, [
            { sku: "A", n: 3 },
            { sku: "B", n: 4 },
          ]);
        }
      });

    it("does so by id, when a line needs the stored state", async () => {
      const schema = { properties: { secret: { type: "string", writeOnly: true } } };
      await store.commit([define({ unique: ["sku"], schema })]);
      await kinds([put("a", { sku: "A", secret: "x" })]);
      overtake(3);
      const results = await kinds([put("a", { sku: "A", n: 1 }), put("a", { sku: "A", n: 2 })]);
      assert.deepEqual(results, ["replaced", "replaced"]);
      assert.deepEqual(
        (await stored())?.map(({ n }) => n),
        [2],
      );
    });

    it("goes on after one that is rejected", async () => {
      await kinds([upsert({ sku: "C", code: "taken" })]);
      const results = await kinds([
        upsert({ sku: "A", n: 1 }),
        upsert({ sku: "A", code: "taken" }),
        upsert({ sku: "A", n: 2 }),
        upsert({ sku: "D", code: "taken" }),
        upsert({ sku: "D", n: 3 }),
      ]);
      assert.deepEqual(results, ["created", "conflict", "replaced", "conflict", "created"]);
      assert.deepEqual(await stored(), [
        { sku: "C", code: "taken" },
        { sku: "A", n: 2 },
        { sku: "D", n: 3 },
      ]);
    });
  });

  it("gives the memory of a batch back, also when it is rejected", async () => {
    const one = { ...put("a"), collection: "notes" } as const;
    await writes.runAll(writer, [one, one]);
    const [refused, missing] = [
      { ...one, id: "-" },
      { ...patch("b", {}), collection: "notes" },
    ];
    for (const other of [refused, missing]) await writes.runAll(writer, [one, other]);
    assert.equal(memory.usedBytes, 0);
    assert.equal((await store.collection("notes"))?.total, 1);
  });

  it("gives a retry the first result even if the rules would reject it now", async () => {
    const once: IdempotencyKey = {
      ...{ owner: "writer", key: "k", fingerprint: "same" },
      ...{ at: Date.now(), expiresAt: Date.now() + 60_000 },
    };
    const first = await writes.run(await open("create"), create(), once);
    await store.commit([define(strict)]);
    const retried = await writes.run(await open("create"), create(), once);
    assert.ok(!(retried instanceof Problem) && retried.isReplay);
    assert.equal(resourceOf(retried).id, resourceOf(first).id);
    assert.equal((await store.collection("notes"))?.total, 1);
    const other = await writes.run(await open("create"), create(), { ...once, key: "other" });
    assert.ok(other instanceof Problem && other.kind === "invalid-body");
  });

  for (const [count, chars] of [
    [500, 10],
    [500, 400],
    [12, 60_000],
  ] as const)
    it(`${count} lines of ${chars} characters are planned in turns`, async () => {
      const opened = await open("create");
      const fields = JSON.stringify({ text: "x".repeat(chars) });
      const largest = await largestTurn(async (note) => {
        const planned = new Set<number>();
        const operations = Array.from({ length: count }, (_, line) => ({
          kind: "create" as const,
          draft: {
            id: undefined,
            get fields() {
              if (!planned.has(line)) note(fields.length);
              planned.add(line);
              return fields;
            },
          },
        }));
        const results = await writes.runEach(opened, operations);
        assert.ok(results.every((result) => !(result instanceof Problem)));
        assert.equal(planned.size, count);
      });
      assert.ok(largest <= turnBytes + chars, `${largest} bytes in one turn`);
      assert.ok(largest / fields.length <= 65, `${largest / fields.length} lines in one turn`);
    });
});
