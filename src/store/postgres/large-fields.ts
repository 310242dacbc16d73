// Reads the large fields of a page after the page, a few at a time, so that other requests get a turn in between.

import { shortPageBytes } from "../../model/query/list-request.ts";
import { rawRows, rows, type Sql, type Statement, type Value } from "./connection.ts";
import { type ResourceColumns, resourceColumns, resourceOf, rowsWithin } from "./row.ts";

/** A row that begins with the columns of a resource. */
type PageRow = readonly [
  ...(readonly [id: string | null, revision: number | null, created: Value, updated: Value]),
  fields: string | null,
  ...(readonly [owner: Value, files: Value, sharesDate: Value, checksum: number | null]),
  ...Value[],
];

/** Larger fields are read as bytes. */
const maxEach = 32 * 1024;
/** The limits of what is read at once afterwards; one resource is always read. */
const maxRows = 64;
const maxBytesAtOnce = 256 * 1024;

interface RowPage<R> {
  /** The limit of the page in bytes. With it the rows have a `size` (see rowsWithin). */
  readonly maxBytes: number | undefined;
  /** Returns the statement that selects these columns of its resources. */
  readonly select: (columns: Statement) => Statement;
  /** Whether the fields that were left out are needed; without it they are. */
  readonly isNeeded?: (found: readonly R[]) => boolean;
}

/**
 * Reads a page, then the fields that it left out. When one of these was written in between, the page is
 * read again with all fields, because it must come from one snapshot.
 */
export async function readWithFields<R extends PageRow>(
  sql: Sql,
  part: number,
  { maxBytes, select, isNeeded = () => true }: RowPage<R>,
): Promise<readonly R[]> {
  const found = await rows<R>(select(resourceColumns(sql, shortFields(sql, maxBytes))));
  const leftOut = found.filter(isLeftOut);
  if (leftOut.length === 0 || !isNeeded(found)) return found;
  const whole = await readLeftOut(sql, part, leftOut);
  if (whole === undefined) return rows<R>(select(resourceColumns(sql)));
  // The row of the head can have the same revision as a resource.
  return found.map((row) => (isLeftOut(row) ? (whole.get(row[1]) ?? row) : row));
}

/** Selects the fields that are read with their page. */
const shortFields = (sql: Sql, maxBytes = 0): Statement =>
  maxBytes > shortPageBytes
    ? sql`CASE WHEN size <= ${shortPageBytes}::bigint THEN fields END`
    : sql`CASE WHEN octet_length(fields) <= ${maxEach}::bigint THEN fields END`;

/** Other rows without fields are no resources, and have no checksum. */
const isLeftOut = (row: PageRow): boolean => row[4] === null && row[8] !== null;

/** Returns the rows with their fields, by revision; undefined when a resource has another revision now. */
async function readLeftOut<R extends PageRow>(
  sql: Sql,
  part: number,
  leftOut: readonly R[],
): Promise<ReadonlyMap<R[1], R> | undefined> {
  const whole = new Map<R[1], R>();
  while (whole.size < leftOut.length) {
    const next = leftOut.slice(whole.size, whole.size + maxRows);
    const table = atRevisions(
      sql,
      part,
      next.map(([, revision]) => revision),
    );
    const found = await rawRows(sql`
      SELECT revision, fields
      FROM ${rowsWithin(sql, table, sql`place`, maxBytesAtOnce)} AS page ORDER BY place`);
    if (found.length === 0) return undefined;
    for (const [at, [revision, bytes]] of found.entries()) {
      const row = next[at];
      if (!row || !bytes || row[1] !== Number(revision)) return undefined;
      whole.set(row[1], checked(row, bytes));
    }
  }
  return whole;
}

/**
 * Checks the checksum and removes it, so that not all large fields are checked in one turn. Large fields
 * stay bytes, which can be sent as they are.
 */
function checked<R extends PageRow>(row: R, bytes: Buffer): R {
  // The driver's buffer may have other rows.
  const fields = bytes.length > maxEach ? new Uint8Array(bytes) : bytes.toString();
  const columns = (row as readonly unknown[]).with(4, fields);
  resourceOf(columns as unknown as ResourceColumns);
  return columns.with(8, null) as unknown as R;
}

const atRevisions = (sql: Sql, part: number, revisions: readonly Value[]): Statement => sql`
  SELECT resource.*, place
  FROM unnest(${revisions}::bigint[]) WITH ORDINALITY AS listed (listed_revision, place)
  CROSS JOIN LATERAL (
    SELECT revision, fields FROM resources
    WHERE part = ${part}::bigint AND revision BETWEEN listed_revision AND listed_revision
    ORDER BY revision LIMIT 1
  ) AS resource`;
