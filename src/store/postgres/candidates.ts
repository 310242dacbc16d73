// Reads what a filter needs: counts and seqs of index entries, and resources to check.

import { eachInTurns, nextTurn, turnBytes } from "../../lib/turns.ts";
import type { Candidate } from "../../model/query/query.ts";
import { type CheckedRow, candidateIn, type Read, type ReadResults } from "../core/filter-reads.ts";
import type { IndexSource } from "../core/index-use.ts";
import type { Ranks } from "../core/search.ts";
import { rows, type Sql, type Statement } from "./connection.ts";
import { entriesIn } from "./entries.ts";
import { pageOf } from "./index-scan.ts";
import { readWithFields } from "./large-fields.ts";
import { type ResourceColumns, resourceColumns, resourceOf, rowsWithin } from "./row.ts";
import { testRows } from "./row-test.ts";
import { matchesOf } from "./search.ts";

/** The limits of the resources that are read at once, because the driver converts them in one turn. */
const maxRows = 250;
const maxBytes = 256 * 1024;

/** A read of the same collection. */
type OwnRead = Exclude<Read, { kind: "related" | "ids" }>;

export async function readFor(
  sql: Sql,
  part: number,
  read: OwnRead,
): Promise<ReadResults[OwnRead["kind"]]> {
  switch (read.kind) {
    case "count": {
      const first = sql`ORDER BY key LIMIT ${read.max}::bigint`;
      const all = entriesOfSource(sql, part, read.source, first);
      const [counted] = await rows<readonly [number]>(
        sql`SELECT count(*) FROM (${all} LIMIT ${read.max}::bigint) AS counted`,
      );
      return counted?.[0] ?? 0;
    }
    case "seqs": {
      const all = entriesOfSource(sql, part, read.source, sql`ORDER BY key`);
      return seqsIn(sql, sql`SELECT DISTINCT seq FROM (${all}) AS entry`);
    }
    case "ranks":
      return ranksIn(sql, matchesOf(sql, part, read.words));
    case "scan": {
      const { scan, after: start = 0, isNewestFirst, limit } = read;
      const page = pageOf(sql, part, scan, { start, isNewestFirst, limit: limit - 1 });
      return firstOfEach(await rows<readonly [number]>(sql`SELECT seq FROM (${page}) AS page`));
    }
    case "next":
      return read.isVerified
        ? candidatesIn(await rows(nextRows(sql, part, read, sql`${resourceColumns(sql)}, seq`)))
        : (await rows<CheckedRow>(nextRows(sql, part, read, checkedColumns(sql)))).map(candidateIn);
    case "test":
      return testRows(sql, part, read);
    case "turn":
      await nextTurn();
      return undefined;
    case "at": {
      const candidates = candidatesIn(await listedRows(sql, part, read));
      const last = candidates.at(-1)?.seq;
      const isAll = read.maxBytes === Number.POSITIVE_INFINITY || last === undefined;
      return { candidates, read: isAll ? read.seqs.length : read.seqs.indexOf(last) + 1 };
    }
  }
}

/** A row takes far more time than a number, so that each has many; one is the work of a turn. */
const numbersAtOnce = 4_096;
const blockOf = (sql: Sql, order: Statement): Statement =>
  sql`(row_number() OVER (${order}) - 1) / ${numbersAtOnce}::bigint AS block`;
const numbersIn = (text: string): readonly number[] => JSON.parse(`[${text}]`);
const blockWork = (): number => turnBytes;

/** Returns the seqs of a table in ascending order. */
async function seqsIn(sql: Sql, table: Statement): Promise<readonly number[]> {
  const blocks = await rows<readonly [string]>(sql`
    SELECT string_agg(seq::text, ',' ORDER BY seq)
    FROM (SELECT seq, ${blockOf(sql, sql`ORDER BY seq`)} FROM (${table}) AS found) AS numbered
    GROUP BY block ORDER BY block`);
  const seqs: number[] = [];
  await eachInTurns(blocks, blockWork, ([text]) => void seqs.push(...numbersIn(text)));
  return seqs;
}

async function ranksIn(sql: Sql, table: Statement): Promise<Ranks> {
  const blocks = await rows<readonly [string, string]>(sql`
    SELECT string_agg(seq::text, ','), string_agg(rank::text, ',')
    FROM (SELECT seq, rank, ${blockOf(sql, sql``)} FROM (${table}) AS found) AS numbered
    GROUP BY block`);
  const ranks = new Map<number, number>();
  await eachInTurns(blocks, blockWork, ([seqs, values]) => {
    const found = numbersIn(values);
    for (const [at, seq] of numbersIn(seqs).entries()) ranks.set(seq, found[at] ?? 0);
  });
  return ranks;
}

/** All columns are null where there is no resource. */
type NamedRow = ResourceColumns | Nulls<ResourceColumns>;
type Nulls<T extends readonly unknown[]> = { readonly [C in keyof T]: null };
const isFound = (row: NamedRow): row is ResourceColumns => row[0] !== null;

/** Returns the first resources with these ids; undefined where there is none. */
export async function namedResources(
  sql: Sql,
  part: number,
  { ids, maxBytes }: Extract<Read, { kind: "related" }>,
): Promise<ReadResults["related"]> {
  const table = sql`
    SELECT resource.*, place
    FROM unnest(${[...ids]}::text[]) WITH ORDINALITY AS listed (listed_id, place)
    LEFT JOIN LATERAL (
      SELECT * FROM resources
      WHERE part = ${part}::bigint AND id BETWEEN listed_id AND listed_id
      ORDER BY id LIMIT 1
    ) AS resource ON true`;
  const select = (columns: Statement) => sql`
    SELECT ${columns} FROM ${rowsWithin(sql, table, sql`place`, maxBytes)} AS page
    ORDER BY place`;
  const found = await readWithFields<NamedRow>(sql, part, { maxBytes, select });
  return found.map((row) => (isFound(row) ? resourceOf(row) : undefined));
}

const firstOfEach = (found: readonly (readonly [number])[]): readonly number[] =>
  found.map(([seq]) => seq);

function entriesOfSource(
  sql: Sql,
  part: number,
  { ranges }: IndexSource,
  rest: Statement,
): Statement {
  const [first, ...more] = ranges.map(
    (range) => sql`SELECT seq FROM ${entriesIn(sql, part, range, rest)} AS entry`,
  );
  return more.reduce(
    (all, other) => sql`${all} UNION ALL ${other}`,
    first ?? sql`SELECT 0 AS seq WHERE false`,
  );
}

type SeqResource = readonly [...ResourceColumns, seq: number];

const candidatesIn = (found: readonly SeqResource[]): readonly Candidate[] =>
  found.map((row) => ({ seq: row[9], resource: resourceOf(row) }));

/** The columns of a CheckedRow. */
const checkedColumns = (sql: Sql): Statement => sql`seq, id, created, updated, fields, owner`;

function nextRows(
  sql: Sql,
  part: number,
  { after, isNewestFirst }: Extract<Read, { kind: "next" }>,
  columns: Statement,
): Statement {
  const order = isNewestFirst ? sql`seq DESC` : sql`seq`;
  const beyond = isNewestFirst
    ? sql`seq < ${after ?? Number.MAX_SAFE_INTEGER}::bigint`
    : sql`seq > ${after ?? 0}::bigint`;
  const table = sql`
    SELECT * FROM resources WHERE part = ${part}::bigint AND ${beyond}
    ORDER BY ${order} LIMIT ${maxRows}::bigint`;
  return sql`
    SELECT ${columns} FROM ${rowsWithin(sql, table, order, maxBytes)} AS page
    ORDER BY ${order}`;
}

/** Reads the first resources with these seqs, in the same order. */
function listedRows(
  sql: Sql,
  part: number,
  { seqs, maxBytes: limit }: Extract<Read, { kind: "at" }>,
): Promise<readonly SeqResource[]> {
  const table = sql`
    SELECT resource.*, place
    FROM unnest(${[...seqs]}::bigint[]) WITH ORDINALITY AS listed (listed_seq, place)
    CROSS JOIN LATERAL (
      SELECT * FROM resources
      WHERE part = ${part}::bigint AND seq BETWEEN listed_seq AND listed_seq
      ORDER BY seq LIMIT 1
    ) AS resource`;
  const maxBytes = limit === Number.POSITIVE_INFINITY ? undefined : Math.max(0, limit);
  const select = (columns: Statement) => sql`
    SELECT ${columns}, seq FROM ${rowsWithin(sql, table, sql`place`, maxBytes)} AS page
    ORDER BY place`;
  return readWithFields(sql, part, { maxBytes, select });
}
