// Replaces the table of words of databases up to version 11, in steps, and the entries of array elements.

import { isOfElements } from "../../model/field-kind.ts";
import { type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import {
  collectIndexRows,
  hasNoIndexes,
  type IndexWrites,
  noIndexWrites,
} from "../core/index-rows.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import { readChunk } from "./rebuild.ts";
import type { ReportProgress } from "./step.ts";
import { planSetting, tables } from "./tables.ts";
import { writeIndexes } from "./writes.ts";

/**
 * `upgrade` contains the parts that are not done, and the last seq whose words are stored. In 0.1.0 an
 * index of `tags[]` was that of a field with this name.
 */
const begin = `
  DROP TABLE words;
  ${tables.words}
  ${planSetting("words")}
  DELETE FROM entries WHERE field LIKE '%[]' OR field LIKE '%[].%';
  CREATE TABLE upgrade (part bigint PRIMARY KEY, after bigint NOT NULL);
  INSERT INTO upgrade SELECT part, 0 FROM heads;
`;

const chunkRows = 500;

type PartRow = readonly [part: number, after: number, definition: string | null];

/** Runs one transaction, and returns whether all words are stored. */
export async function upgradeWords(sql: Sql, report: ReportProgress): Promise<boolean> {
  const [found] = await rows<readonly [string | null]>(sql`SELECT to_regclass('upgrade')::text`);
  if (!found?.[0]) await sql.unsafe(begin).simple();
  const [next] = await rows<PartRow>(sql`
    SELECT part, after, definition FROM upgrade LEFT JOIN collections USING (part)
    ORDER BY part LIMIT 1`);
  if (next) {
    await storeWords(sql, next);
    await reportProgress(sql, report);
    return false;
  }
  await sql.unsafe("DROP TABLE upgrade").simple();
  return true;
}

async function storeWords(sql: Sql, [part, after, definition]: PartRow): Promise<void> {
  const whole = indexPlanOf(definition ?? "{}");
  const plan = { ...whole, indexes: whole.indexes.filter(({ name }) => isOfElements(name)) };
  const chunk = hasNoIndexes(plan) ? [] : await readChunk(sql, part, after, chunkRows);
  const writes = noIndexWrites();
  for (const candidate of chunk) collectRows(writes, plan, candidate);
  await allOrFirstError(writeIndexes(sql, part, writes).map(rows));
  const last = chunk.at(-1);
  if (last)
    await rows(sql`
      UPDATE upgrade SET after = ${last.seq}::bigint WHERE part = ${part}::bigint`);
  else await rows(sql`DELETE FROM upgrade WHERE part = ${part}::bigint`);
}

/** A damaged resource gets no rows; readers report it. */
function collectRows(writes: IndexWrites, plan: IndexPlan, candidate: Candidate): void {
  try {
    collectIndexRows(writes, plan, undefined, candidate);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
}

async function reportProgress(sql: Sql, report: ReportProgress): Promise<void> {
  const [row] = await rows<readonly [left: number, seqs: number]>(sql`
    SELECT coalesce(sum(heads.seq - upgrade.after), 0)::bigint, coalesce(sum(heads.seq), 0)::bigint
    FROM heads LEFT JOIN upgrade USING (part)`);
  const [left = 0, seqs = 0] = row ?? [];
  const done = seqs === 0 ? 1 : 1 - left / seqs;
  report(`migrating the search words: ${Math.floor(100 * done)} %`);
}
