// The budget of a batch: a small request that needs too many bytes is rejected, and others are served meanwhile.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Access } from "../../src/domain/access.ts";
import { overloaded } from "../../src/domain/problems.ts";
import { BatchMemory, batchMemoryLimits } from "../../src/domain/write/batch-memory.ts";
import { Plan, type PlannedOperation } from "../../src/domain/write/plan.ts";
import { MemoryBudget, Reservation } from "../../src/lib/memory-budget.ts";
import { system } from "../../src/model/principal.ts";
import { operationsType } from "../../src/model/schemas/operations.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import { lowerLimit } from "../lower-limit.ts";
import { runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

const mebibyte = 1024 * 1024;
const [few, full] = [4 * mebibyte, 32 * mebibyte];
const maxChangedBytes = lowerLimit(batchMemoryLimits, "maxChangedBytes", few, full);
const maxWrittenBytes = lowerLimit(batchMemoryLimits, "maxWrittenBytes", few, full);

/** A fortieth of the limit. */
const wide = { list: Array(runs(50_000, 400_000)).fill(1) };
const wideBytes = JSON.stringify(wide).length;
/** So many of them are within the budget. */
const most = Math.floor(maxWrittenBytes / wideBytes);

const patch = (path: string, body: unknown = {}) => ({ method: "PATCH", path, body });
const remove = (path: string) => ({ method: "DELETE", path });

for (const store of storesHere(undefined, [undefined, "postgres"]))
  describe(`a batch on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp({ store, maxBodyBytes: 16 * 1024 * 1024 });
      client = new Client(app);
      await client.putAndReadTag("/wide/a", wide);
    });
    after(() => app.stop());

    it("that would write and return too many bytes is 413, and nothing is done", async () => {
      const operations = Array(100).fill(patch("/wide/a"));
      const problem = await client.rejects("wide", "content-too-large", () =>
        client.batch(operations),
      );
      assert.deepEqual(pointersOf(problem), [`/operations/${most}`]);
      // The text has the limit of the program.
      assert.match(problem.detail, /^The batch was rejected. .* over 32 MiB/);
    });

    it("within the budget is executed", async () => {
      const { status, body } = await client.batch(Array(3).fill(patch("/wide/a")));
      assert.equal(status, 200, body.slice(0, 300));
      assert.equal(JSON.parse(body).results.length, 3);
    });

    // The plan is the same on both engines, and this is much to write.
    const onlyEmbedded = { skip: store !== undefined };
    it(
      "that changes too many bytes is 413; one that removes as many is executed",
      onlyEmbedded,
      async () => {
        const paths = ["/many/a", "/many/b", "/many/c"];
        const text = "x".repeat(maxChangedBytes * 0.375);
        for (const path of paths) assert.equal((await client.put(path, { text })).status, 201);
        const problem = assertProblem(
          await client.batch(paths.map((path) => patch(path, { text: null }))),
          "content-too-large",
        );
        assert.match(
          problem.detail,
          /^The batch was rejected. .* changes resources of over 32 MiB together/,
        );
        const { status } = await client.batch(paths.map(remove));
        assert.equal(status, 200);
        assert.equal(await app.total("many"), 0);
      },
    );

    it("may change and remove the same resource", async () => {
      await client.putAndReadTag("/wide/c", { n: 1 });
      const put = { method: "PUT", path: "/wide/c", body: { n: 2 } };
      for (const operations of [
        [patch("/wide/c", { m: 1 }), remove("/wide/c"), put],
        [remove("/wide/c"), put, patch("/wide/c", { m: 2 })],
      ]) {
        const { status, body } = await client.batch(operations);
        assert.equal(status, 200, body);
      }
      const { n, m } = await client.json<Record<string, unknown>>("/wide/c");
      assert.deepEqual([n, m], [2, 2]);
    });
  });

// The embedded engine reads what rules refer to at once, so that only Postgres plans again.
for (const store of storesHere("postgres", [undefined, "postgres"]))
  describe(`the bytes that count for a batch on ${store ?? "the embedded engine"}`, () => {
    const paths = ["/tasks/a", "/tasks/b", "/tasks/c"];
    let app: TestApp;
    let admin: Client;
    let ann: Client;
    before(async () => {
      app = await startApp({ store, maxBodyBytes: 16 * 1024 * 1024 });
      admin = new Client(app);
      ann = new Client(app, await app.token("tasks:*", "plain:*"));
      const open = [{ name: "open", to: "token", where: { "project.open": true } }];
      await admin.put("/-/collections/projects", {});
      await admin.put("/-/collections/tasks", {
        references: { project: { collection: "projects", onDelete: "unset" } },
        access: { read: open, update: open, delete: open },
      });
      await admin.put("/projects/p", { open: true });
      const text = "x".repeat(maxChangedBytes * 0.375);
      for (const path of [...paths, "/plain/a", "/plain/b"])
        assert.equal((await admin.put(path, { project: "p", text })).status, 201);
      await admin.put("/tasks/small", { project: "p" });
    });
    after(() => app.stop());

    const increment = (path: string) => ({
      ...patch(path, { increment: { n: 1 } }),
      contentType: operationsType,
    });
    const detailOf = async (by: Client, operations: readonly object[]) => {
      const problem = await admin.rejects("tasks", "content-too-large", () => by.batch(operations));
      return problem.detail;
    };

    it("are those of what operations change, and of each result", async () => {
      assert.match(await detailOf(admin, paths.map(increment)), / changes resources of over /);
      assert.match(await detailOf(admin, Array(3).fill(increment("/tasks/a"))), / writes over /);
    });

    it("are those of what is deleted, where rules decide", async () => {
      assert.match(await detailOf(ann, paths.map(remove)), / changes resources of over /);
    });

    it("count once when what rules refer to is read first", async () => {
      for (const paths of [
        ["/tasks/a", "/tasks/b"],
        // The first ones are planned before the last one asks for its project.
        ["/plain/a", "/plain/b", "/tasks/small"],
      ]) {
        const { status, body } = await ann.batch(paths.map((path) => patch(path)));
        assert.equal(status, 200, body.slice(0, 300));
      }
    });

    it("are those of what a deletion changes", async () => {
      const { detail } = await admin.rejects("tasks", "conflict", () =>
        admin.remove("/projects/p"),
      );
      assert.match(detail, /would change other resources of over 32 MiB/);
    });
  });

describe("the bytes of a batch", () => {
  const reservation = () => new Reservation(new MemoryBudget(2 ** 30));

  for (const [title, max, take] of [
    [
      "before it",
      maxChangedBytes,
      (memory: BatchMemory, bytes: number) => memory.takeChanged(bytes),
    ],
    [
      "after it",
      maxWrittenBytes,
      (memory: BatchMemory, bytes: number) => memory.takeWritten(bytes),
    ],
  ] as const)
    it(`${title} are at most the limit, all together`, () => {
      const memory = new BatchMemory(reservation());
      assert.equal(take(memory, max - 1), undefined);
      assert.equal(take(memory, 1), undefined);
      assert.equal(take(memory, 1)?.kind, "content-too-large");
      memory.restart();
      assert.equal(take(memory, max), undefined);
    });
});

describe("the plan of a batch", () => {
  const limits = { maxBytes: 2 ** 20, maxCascade: 0 };
  const context = { key: undefined, at: 1, base: "", isBulk: false, ...limits };

  it("yields to other requests, and counts the bytes it holds", async () => {
    const path = await mkdtemp(join(tmpdir(), "restante-"));
    const store = await openSqlite({ path });
    const fields = JSON.stringify(wide);
    await store.commit([
      { kind: "create-collection", collection: "wide", at: 1 },
      { kind: "put", collection: "wide", id: "a", fields, at: 1, expect: "nothing" },
    ]);
    const accesses = new Access(store, Date.now);
    const access = await accesses.collection(system, "wide");
    const operation = { kind: "patch", id: "a", patchKind: "merge", patch: "{}" } as const;
    const operations: readonly PlannedOperation[] = Array(most).fill({ access, operation });

    const budget = new MemoryBudget(2 ** 30);
    const memory = new Reservation(budget);
    let turns = 0;
    let next: ReturnType<typeof setImmediate>;
    const count = () => {
      turns++;
      next = setImmediate(count);
    };
    next = setImmediate(count);
    const planWithin = (reservation: Reservation) =>
      new Plan(store, accesses, { ...context, memory: new BatchMemory(reservation) }).plan(
        operations,
        false,
      );
    const changes = await planWithin(memory);
    clearImmediate(next);
    assert.equal(changes.length, most);
    assert.ok(turns >= 3, `${turns}`);
    assert.equal(budget.usedBytes, (most + 1) * fields.length);
    memory.release();
    assert.equal(budget.usedBytes, 0);

    const little = new Reservation(new MemoryBudget(10 * fields.length));
    const rejected = await planWithin(little);
    assert.equal(rejected.at(-1), overloaded);
    await store.close();
    await rm(path, { recursive: true, force: true });
  });
});
