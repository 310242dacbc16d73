// Keeps the totals of queries while the state of their part stays the same, because counting takes longer than a page.

import { RecentMap } from "../../lib/recent-map.ts";
import type { CollectionRow, HeadState } from "./collections.ts";
import type { Sql } from "./connection.ts";
import { runStatement, type StatementParts, type StatementResult } from "./statement.ts";

/** The totals of one state of a part, by what is counted. */
interface CountsOfHead extends Pick<HeadState, "epoch" | "revision"> {
  readonly counts: RecentMap<string, number>;
}

export const countLimits = {
  /** How many totals of a part are kept. */
  maxCounts: 1_000,
  /** Fewer entries are counted in less time than it takes to read a page again after a change. */
  minCount: 10_000,
  /** What has a longer name, such as a thousand values, is not kept. */
  maxNameLength: 1_000,
};

/** The row of a collection is another one when its definition changes. */
const knownOf = new WeakMap<CollectionRow, CountsOfHead>();

/** Runs a statement that counts, and leaves out what is known. `counted` says what it counts. */
export async function runCounted(
  sql: Sql,
  row: CollectionRow,
  counted: readonly unknown[],
  parts: StatementParts,
): Promise<StatementResult | undefined> {
  const name = JSON.stringify(counted);
  const known = knownOf.get(row);
  const count = known?.counts.get(name);
  if (known !== undefined && count !== undefined) {
    const page = await runStatement(sql, row.part, { ...parts, count: sql`NULL` });
    if (page !== undefined && isOf(page.head, known)) return { ...page, count };
  }
  const found = await runStatement(sql, row.part, parts);
  const { count: total = 0 } = found ?? {};
  const isKept = total >= countLimits.minCount && name.length <= countLimits.maxNameLength;
  if (found !== undefined && isKept) countsOf(row, found.head).set(name, total);
  return found;
}

const isOf = ({ epoch, revision }: HeadState, known: CountsOfHead): boolean =>
  epoch === known.epoch && revision === known.revision;

function countsOf(row: CollectionRow, head: HeadState): CountsOfHead["counts"] {
  const known = knownOf.get(row);
  if (known !== undefined && isOf(head, known)) return known.counts;
  const { epoch, revision } = head;
  const counts = new RecentMap<string, number>(countLimits.maxCounts);
  knownOf.set(row, { epoch, revision, counts });
  return counts;
}
