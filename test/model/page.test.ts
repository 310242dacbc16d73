// Pages: where a window starts and how many there are.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { pageCount, pageLimits, windowOffset } from "../../src/model/page.ts";

describe("pages", () => {
  const counts: readonly [total: number, limit: number, pages: number][] = [
    [0, 20, 0],
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [4913, 20, 246],
    [1000, 1, 1000],
  ];
  for (const [total, limit, pages] of counts)
    it(`${total} by ${limit} makes ${pages}`, () => assert.equal(pageCount(total, limit), pages));

  it("hold every item once", () => {
    const anyTotal = fc.nat({ max: 100_000 });
    const anyLimit = fc.integer({ min: 1, max: pageLimits.maxLimit });
    fc.assert(
      fc.property(anyTotal, anyLimit, (total, limit) => {
        const pages = pageCount(total, limit);
        const first = windowOffset({ page: 1, limit, order: "created" });
        const last = windowOffset({ page: pages, limit, order: "created" });
        const next = windowOffset({ page: pages + 1, limit, order: "created" });
        assert.equal(first, 0);
        assert.ok(pages === 0 || last < total);
        assert.ok(next >= total && next < total + limit);
      }),
    );
  });

  it("start where the one before ends, in either order", () => {
    assert.equal(windowOffset({ page: 3, limit: 20, order: "created" }), 40);
    assert.equal(windowOffset({ page: 3, limit: 20, order: "-created" }), 40);
  });
});
