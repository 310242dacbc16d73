// Pages: where each starts, and how many there are.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  largePageBytes,
  pageCount,
  pageLimits,
  pageOffset,
} from "../../src/model/query/list-request.ts";
import fc from "../fast-check.ts";

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

  it("contain every item once", () => {
    const anyTotal = fc.nat({ max: 100_000 });
    const anyLimit = fc.integer({ min: 1, max: pageLimits.maxLimit });
    fc.assert(
      fc.property(anyTotal, anyLimit, (total, limit) => {
        const pages = pageCount(total, limit);
        const first = pageOffset(1, limit);
        const last = pageOffset(pages, limit);
        const next = pageOffset(pages + 1, limit);
        assert.equal(first, 0);
        assert.ok(pages === 0 || last < total);
        assert.ok(next >= total && next < total + limit);
      }),
    );
  });

  it("are of whole bytes, so that the bytes in flight are 0 in the end", () => {
    const collection = { bytes: 10_000_001, total: 60 };
    for (const limit of [7, 11, 1000]) {
      const bytes = largePageBytes(collection, { limit });
      assert.ok(bytes > 0 && Number.isInteger(bytes), `${bytes}`);
    }
  });

  it("start where the page before ends", () => {
    assert.equal(pageOffset(3, 20), 40);
    assert.equal(pageOffset(Number.MAX_SAFE_INTEGER, 1000), Number.MAX_SAFE_INTEGER);
  });
});
