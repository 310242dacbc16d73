// Reads of an index: any range in any order, compared with sorting everything.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isIn, type Span } from "../../../src/model/query/sort-key.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import {
  type EntryCells,
  EntryReader,
  maxCounts,
  type OrderedScan,
} from "../../../src/store/sqlite/entries.ts";
import { prepareFile } from "../../../src/store/sqlite/file.ts";
import { createTables } from "../../../src/store/sqlite/schema.ts";
import fc from "../../fast-check.ts";
import { inDirectory } from "./test-directory.ts";

const part = 2 ** 51;

/** Few keys and many seqs, so that there are ties of every size. */
const keys = ["", "n1", "n2", "n3", "sa", "sb", "s\u{1d11e}", "s\ufb00"] as const;
const places = Array.from({ length: 90 }, (_, seq): EntryCells => {
  const spread = Math.imul(seq, 0x9e3779b1) >>> 8;
  return [keys[spread % 40 < 25 ? 2 : spread % keys.length] ?? "", seq + 1];
});

const spans = fc
  .uniqueArray(fc.constantFrom("", "n", "n1", "n2", "n2\u0001", "o", "s", "sb", "s\ufb00", "u"), {
    minLength: 2,
    maxLength: 6,
  })
  .map((edges): readonly Span[] => {
    const sorted = edges.toSorted();
    return sorted.flatMap((from, index) => {
      const to = sorted[index + 1];
      return index % 2 === 0 && to !== undefined ? [{ from, to }] : [];
    });
  });

const scan = fc.record({
  part: fc.constant(part),
  revision: fc.constant(1),
  index: fc.constant("f"),
  spans,
  isDescending: fc.boolean(),
  isNewestFirst: fc.boolean(),
});

/** Bytes, as SQLite compares them. */
const compareTexts = (one: string | number, other: string | number): number =>
  Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));

function sorted({ spans, isDescending, isNewestFirst }: OrderedScan): readonly EntryCells[] {
  const within = places.filter(([key]) => spans.some((span) => isIn(String(key), span)));
  return within.toSorted(([key, seq], [otherKey, otherSeq]) => {
    const byKey = compareTexts(key, otherKey) * (isDescending ? -1 : 1);
    return byKey === 0 ? (seq - otherSeq) * (isNewestFirst ? -1 : 1) : byKey;
  });
}

async function inIndex(test: (reader: EntryReader) => void): Promise<void> {
  await inDirectory(async (path) => {
    const connection = new Connection(prepareFile(path).path, "write");
    createTables(connection);
    const insert = connection.query("INSERT INTO entries VALUES (?, ?, ?, ?)");
    for (const [key, seq] of places) {
      insert.run(part, "f", key, seq);
      insert.run(part, "e", key, seq);
      insert.run(part, "g", "n2", seq);
      insert.run(part - 1, "f", key, seq);
      insert.run(part + 1, "f", key, seq);
    }
    test(new EntryReader(connection));
    connection.close();
  });
}

const copied = (some: readonly EntryCells[]): readonly EntryCells[] =>
  some.map(([key, seq]) => [key, seq]);

describe("the entries of an index", () => {
  it("are counted exactly, with a limited number of cached counts", () =>
    inIndex((reader) => {
      const all = places.length;
      for (let index = 0; index < 2 * maxCounts + 10; index++) {
        const spans = [{ from: "", to: `z${index}` }];
        assert.equal(reader.count({ part, revision: 1 }, "f", spans), all);
        assert.equal(reader.count({ part, revision: 1 }, "f", spans), all);
        assert.equal(reader.cachedCounts, Math.min(index + 1, maxCounts));
      }
    }));

  it("are read from any offset", () =>
    inIndex((reader) => {
      fc.assert(
        fc.property(scan, fc.nat(95), fc.integer({ min: 1, max: 95 }), (scan, offset, limit) => {
          const expected = sorted(scan).slice(offset, offset + limit);
          assert.deepEqual(copied(reader.scan(scan, offset, limit)), expected);
        }),
        { numRuns: 500 },
      );
    }));

  it("are read after any position, whether it exists or not", () =>
    inIndex((reader) => {
      const place = fc.tuple(fc.constantFrom(...keys, "n", "n25", "z"), fc.nat(95));
      fc.assert(
        fc.property(scan, place, fc.integer({ min: 1, max: 95 }), (scan, [key, seq], limit) => {
          const expected = sorted(scan).filter(([otherKey, otherSeq]) => {
            const byKey = compareTexts(otherKey, key);
            if (byKey !== 0) return scan.isDescending ? byKey < 0 : byKey > 0;
            return scan.isNewestFirst ? otherSeq < seq : otherSeq > seq;
          });
          const walked = reader.scanAfter(scan, key, seq, limit);
          assert.deepEqual(copied(walked), expected.slice(0, limit));
        }),
        { numRuns: 500 },
      );
    }));

  it("are counted, and counted again only after a change", () =>
    inIndex((reader) => {
      fc.assert(
        fc.property(scan, fc.nat(3), fc.nat(95), (scan, revision, limit) => {
          const { length } = sorted(scan);
          assert.equal(reader.count({ part, revision }, "f", scan.spans), length);
          assert.equal(reader.countUpTo(part, "f", scan.spans, limit), Math.min(length, limit));
          const seqs = new Set<number>();
          reader.addSeqs(seqs, part, "f", scan.spans, () => undefined);
          assert.equal(seqs.size, length);
        }),
      );
    }));
});
