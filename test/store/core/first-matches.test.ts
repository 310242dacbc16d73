// Pages of matches that are visited in any order, also beyond those that are kept in memory.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Query } from "../../../src/model/query/query.ts";
import { firstMatches, type VisitAll } from "../../../src/store/core/first-matches.ts";
import { comparison } from "../../../src/store/core/top-matches.ts";

/** More than twice as many as are kept. */
const count = 200_010;
const query: Query = {
  ...{ conditions: [], words: [], sortings: [], isNewestFirst: false, isCounted: true },
  ...{ start: 0, limit: 3 },
};

const visitAll: VisitAll = function* ({ visit }) {
  for (let seq = 0; seq < count; seq++) visit({ keys: [], seq, rank: 0 });
  yield { kind: "turn" };
};

/** Returns the seqs of the page and the next one. */
function pageAt(start: number) {
  const running = firstMatches({ ...query, start }, comparison(query), visitAll, () => true);
  let next = running.next();
  while (!next.done) next = running.next();
  const { matches, counted } = next.value;
  return { seqs: matches.map(({ seq }) => seq), counted };
}

describe("the first matches of a query", () => {
  for (const start of [5, 100_000, 200_004])
    it(`after ${start} others`, () => {
      const seqs = [start, start + 1, start + 2, start + 3];
      assert.deepEqual(pageAt(start), { seqs, counted: { count, isWhole: true } });
    });
});
