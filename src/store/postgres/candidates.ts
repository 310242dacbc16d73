// Reads what a filter needs: counts and seqs of index entries, and resources to check.

import type { Candidate } from "../../model/query/query.ts";
import type { Read, ReadResults } from "../core/filter-reads.ts";
import type { Source } from "../core/index-use.ts";
import { rows, type Sql, type Statement } from "./connection.ts";
import { entriesIn } from "./entries.ts";
import { pageOf } from "./index-scan.ts";
import { readWithFields } from "./large-fields.ts";
import { type ResourceColumns, resourceColumns, resourceOf, rowsWithin } from "./row.ts";
import { testRows } from "./row-test.ts";
import { matchesOf } from "./search.ts";

/** The limits of the resources that are read at once. */
const maxRows = 500;
const maxBytes = 1024 * 1024;

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
      return firstOfEach(
        await rows<readonly [number]>(sql`SELECT DISTINCT seq FROM (${all}) AS entry ORDER BY seq`),
      );
    }
    case "ranks": {
      const found = await rows<readonly [number, number]>(sql`
        SELECT seq, rank FROM (${matchesOf(sql, part, read.words)}) AS found`);
      return new Map(found);
    }
    case "scan": {
      const { scan, after: start = 0, isNewestFirst, limit } = read;
      const page = pageOf(sql, part, scan, { start, isNewestFirst, limit: limit - 1 });
      return firstOfEach(await rows<readonly [number]>(sql`SELECT seq FROM (${page}) AS page`));
    }
    case "next":
      return candidatesIn(await rows<SeqResource>(nextRows(sql, part, read)));
    case "test":
      return testRows(sql, part, read);
    case "at": {
      const candidates = candidatesIn(await listedRows(sql, part, read));
      const last = candidates.at(-1)?.seq;
      const isAll = read.maxBytes === Number.POSITIVE_INFINITY || last === undefined;
      return { candidates, read: isAll ? read.seqs.length : read.seqs.indexOf(last) + 1 };
    }
  }
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

function entriesOfSource(sql: Sql, part: number, { ranges }: Source, rest: Statement): Statement {
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

function nextRows(
  sql: Sql,
  part: number,
  { after, isNewestFirst }: Extract<Read, { kind: "next" }>,
): Statement {
  const order = isNewestFirst ? sql`seq DESC` : sql`seq`;
  const beyond = isNewestFirst
    ? sql`seq < ${after ?? Number.MAX_SAFE_INTEGER}::bigint`
    : sql`seq > ${after ?? 0}::bigint`;
  const table = sql`
    SELECT * FROM resources WHERE part = ${part}::bigint AND ${beyond}
    ORDER BY ${order} LIMIT ${maxRows}::bigint`;
  return sql`
    SELECT ${resourceColumns(sql)}, seq FROM ${rowsWithin(sql, table, order, maxBytes)} AS page
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
