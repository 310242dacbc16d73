// Plans of statements that were made while the tables were small read no more rows when the tables are large.
// @tier all

import assert from "node:assert/strict";
import { describe, it, type TestOptions } from "node:test";
import { runs, within } from "../../seeds.ts";
import { itLong } from "../../short-run.ts";
import { type Act, allReading, operations } from "./planned-operations.ts";
import { Round } from "./planned-round.ts";
import { type Read, Reads } from "./reads.ts";
import { type TestDatabase, TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases();

/** How many rows there are at the first comparison, and how many times as many at the second. */
const rows = runs(300, 6_000);
const times = 3;

type Counts = Readonly<Record<string, readonly Read[]>>;

/** A minute after a deletion a store looks at all keys by itself, during any operation. */
const isOwnWork = ({ text }: Read): boolean =>
  text.includes("FROM idempotency_keys") && text.includes("outcomes <>");

async function count(reads: Reads, round: Round, tag: string): Promise<Counts> {
  round.tag = tag;
  const counts: Record<string, readonly Read[]> = {};
  for (const [name, act] of Object.entries<Act>({ ...operations, ...allReading })) {
    const found = await reads.during(() => act(round));
    counts[name] = name === "erase outcomes" ? found : found.filter((read) => !isOwnWork(read));
  }
  return counts;
}

type Sum = Omit<Read, "text">;

/** A new row goes to any block, and changes one of each index. */
const isNoInsert = ({ text }: Read): boolean => !text.includes("INSERT INTO");

const sumOf = (reads: readonly Read[]): Sum => ({
  rows: reads.reduce((sum, read) => sum + read.rows, 0),
  blocks: reads.filter(isNoInsert).reduce((sum, { blocks }) => sum + blocks, 0),
});

/** Indexes get a little higher, and at times a server reads a token or a definition again. */
const isAlike = (few: Sum, many: Sum): boolean =>
  many.rows <= few.rows + 20 && many.blocks <= 1.1 * few.blocks + 12;

/** Reads each row about as often as before. */
const isLinear = (few: Sum, many: Sum): boolean =>
  many.rows > few.rows + rows && many.rows <= 2 * times * few.rows;

/** Returns the operations that read too much, with the statement that reads the most. */
function complaintsAbout(few: Counts, many: Counts): readonly string[] {
  return Object.entries(many).flatMap(([name, reads]) => {
    const [one, other] = [sumOf(few[name] ?? []), sumOf(reads)];
    if ((name in operations ? isAlike : isLinear)(one, other)) return [];
    const worst = reads.toSorted((some, more) => more.blocks - some.blocks)[0];
    const grown = `${one.rows} → ${other.rows} rows, ${one.blocks} → ${other.blocks} blocks`;
    return [`${name}: ${grown}: ${worst?.text.slice(0, 400)}`];
  });
}

/** When the server looked last how large the tables are. Until it looks again, plans stay as they are. */
type Statistics = "none" | "of empty tables" | "of few rows";

async function compare(database: TestDatabase, statistics: Statistics): Promise<readonly string[]> {
  const analyze = () => database.admin((sql) => sql.unsafe("VACUUM ANALYZE"));
  const reads = await Reads.of(database);
  if (statistics === "of empty tables") await analyze();
  const round = await Round.start(reads.url, database);
  try {
    await count(reads, round, "a");
    if (statistics === "of few rows") {
      await analyze();
      await count(reads, round, "b");
    }
    await round.grow(0, rows);
    const few = await count(reads, round, "c");
    await round.grow(rows, times * rows);
    return complaintsAbout(few, await count(reads, round, "d"));
  } finally {
    await round.app.close();
    reads.close();
  }
}

describe("plans that were made while the tables were small", () => {
  const compareWith = (statistics: Statistics): [string, TestOptions, () => Promise<void>] => [
    `read no more rows when the tables are large; statistics: ${statistics}`,
    within(600_000),
    () =>
      databases.in(async (database) => {
        assert.deepEqual(await compare(database, statistics), []);
      }),
  ];

  // All indexes cost the same then, so that the planner takes the wrong one where it can.
  it(...compareWith("of empty tables"));
  itLong(...compareWith("none"));
  itLong(...compareWith("of few rows"));
});
