// The pages that the grid holds: which are asked for, given up, and read again.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Problem } from "../../console/api/problem.ts";
import type { Row } from "../../console/grid/columns.ts";
import { type ListPage, PageCache, pageSize } from "../../console/grid/page-cache.ts";
import { Clock } from "../clock.ts";

const total = 100_000;

const clock = new Clock();

const pageOf = (page: number, etag = '"1"'): ListPage => ({
  rows: Array.from({ length: pageSize }, (_, index) => {
    const id = `r${page * pageSize + index}`;
    return { id, _etag: etag, createdAt: "", updatedAt: "" } as Row;
  }),
  ...{ etag, total, totalAtLeast: 0, scan: undefined },
});

/** A server that counts what it is asked for. */
function serverOf(answer = async (page: number): Promise<ListPage> => pageOf(page)) {
  const asked: number[] = [];
  const aborted: number[] = [];
  const cache = new PageCache(async (page, signal, etag) => {
    asked.push(page);
    signal.addEventListener("abort", () => aborted.push(page));
    const loaded = await answer(page);
    if (signal.aborted) throw signal.reason;
    return etag !== undefined && etag === loaded.etag ? undefined : loaded;
  });
  return { cache, asked, aborted };
}

describe("the pages of a grid", () => {
  before(() => clock.stop());
  after(() => clock.go());

  it("are those that are shown, then those beside them", async () => {
    const { cache, asked } = serverOf();
    cache.show(90, 120);
    await clock.pass(1);
    assert.deepEqual(asked, [0, 1, 2]);
    assert.equal(cache.rowAt(101)?.id, "r101");
    assert.equal(cache.indexOf("r101"), 101);
    assert.equal(cache.rowAt(5_000), undefined);
    assert.equal(cache.rowCount, total);
  });

  it("come also while somebody scrolls without a pause", async () => {
    const { cache, asked } = serverOf();
    cache.show(0, 20);
    for (let turn = 1; turn <= 60; turn++) {
      await clock.pass(10);
      cache.show(turn * 1_000, turn * 1_000 + 20);
    }
    assert.ok(asked.length > 2, "pages came on the way");
    assert.ok(asked.length < 40, `${asked.length} of 61 pages were asked for`);
    await clock.pass(80);
    assert.equal(cache.rowAt(60_000)?.id, "r60000");
  });

  it("are given up when they have scrolled away, and asked for again", async () => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { cache, asked, aborted } = serverOf(async (page) => {
      if (page === 0) await gate;
      return pageOf(page);
    });
    cache.show(0, 20);
    cache.show(1_000, 1_020);
    await clock.pass(80);
    assert.deepEqual(aborted, [0]);
    cache.show(0, 20);
    open();
    await clock.pass(80);
    assert.deepEqual(asked, [0, 10, 11, 9, 0, 1]);
    assert.equal(cache.rowAt(3)?.id, "r3");
  });

  it("are read again only when something has changed", async () => {
    let etag = '"1"';
    const { cache, asked } = serverOf(async (page) => pageOf(page, etag));
    cache.show(0, 20);
    await clock.pass(1);
    assert.equal(await cache.refresh(), false);
    etag = '"2"';
    assert.equal(await cache.refresh(), true);
    assert.equal(cache.rowAt(0)?._etag, '"2"');
    assert.deepEqual(asked, [0, 1, 0, 0, 1]);
  });

  it("take a row that was changed here", async () => {
    const { cache } = serverOf();
    cache.show(0, 20);
    await clock.pass(1);
    cache.replace({ ...pageOf(0).rows[4], _etag: '"9"', age: 7 } as unknown as Row);
    assert.equal(cache.rowAt(4)?.age, 7);
    assert.equal(await cache.refresh(), true);
  });

  it("say why they did not come", async () => {
    const { cache } = serverOf(() => Promise.reject(new Error("away")));
    cache.show(0, 20);
    await clock.pass(1);
    assert.match(cache.problem?.message ?? "", /away/);
  });

  it("go when the server refuses the list, and come back; those of a server that is away stay", async () => {
    let status = 0;
    const { cache } = serverOf(async (page) => {
      if (status !== 0) throw new Problem(status, { title: "refused" });
      return pageOf(page);
    });
    cache.show(0, 20);
    await clock.pass(1);
    for (status of [429, 500, 503]) {
      await assert.rejects(cache.refresh());
      assert.equal(cache.problem, undefined);
      assert.equal(cache.rowAt(3)?.id, "r3");
    }
    for (const refused of [400, 403, 404]) {
      status = refused;
      await assert.rejects(cache.refresh());
      assert.equal(cache.problem?.status, refused);
      assert.equal(cache.rowAt(3), undefined);
      status = 0;
      assert.equal(await cache.refresh(), true);
      assert.equal(cache.problem, undefined);
      assert.equal(cache.rowAt(3)?.id, "r3");
    }
  });

  it("go on where the server does not count", async () => {
    const { cache } = serverOf(async (page) => {
      const { total: _, ...rest } = pageOf(page);
      return { ...rest, total: undefined, totalAtLeast: 150 };
    });
    cache.show(0, 20);
    await clock.pass(1);
    assert.equal(cache.rowCount, 300);
    cache.show(150, 190);
    await clock.pass(80);
    assert.equal(cache.rowCount, 400);
    assert.equal(cache.total, undefined);
  });

  it("end where a page is not full, also when it is empty", async () => {
    const { cache } = serverOf(async (page) => {
      const { rows, ...rest } = pageOf(page);
      return { ...rest, rows: page < 2 ? rows : [], total: undefined, totalAtLeast: 150 };
    });
    cache.show(150, 190);
    await clock.pass(1);
    assert.deepEqual([cache.rowCount, cache.total], [200, 200]);
  });

  it("beside what is shown are left where each costs a scan, and fail unseen", async () => {
    const scan = { count: 20_000, milliseconds: 80 };
    const scanned = serverOf(async (page) => ({ ...pageOf(page), scan }));
    scanned.cache.show(0, 20);
    await clock.pass(1);
    assert.deepEqual(scanned.asked, [0]);
    const { cache, asked } = serverOf(async (page) => {
      if (page > 0) throw new Error("away");
      return pageOf(page);
    });
    cache.show(0, 20);
    await clock.pass(1);
    assert.deepEqual(asked, [0, 1]);
    assert.equal(cache.problem, undefined);
  });

  it("say of the list only what is new", async () => {
    const { cache } = serverOf();
    cache.show(0, 20);
    await clock.pass(1);
    const { facts, version } = cache;
    const [known, seen] = [facts.value, version.value];
    cache.show(5_000, 5_020);
    await clock.pass(80);
    assert.equal(facts.value, known);
    assert.ok(version.value > seen);
  });
});
