// Deletes many rows of a part in short steps.

import { type Row, rows, type Sql, type Statement } from "./connection.ts";

/** The tables of a part, and the columns that follow `part` in their primary keys. */
const keyColumns = {
  resources: { seq: "bigint" },
  tombstones: { id: "text" },
  former_owners: { revision: "bigint" },
  former_states: { id: "text", revision: "bigint" },
  positions: { level: "bigint", row: "bigint" },
  entries: { field: "text", key: "text", seq: "bigint" },
  words: { word: "text", rank: "bigint", seq: "bigint" },
  files: { key: "text" },
  idempotency_keys: { owner: "text", key: "text" },
  epochs: { epoch: "bigint" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, "bigint" | "text">>>>;

export type PartTable = keyof typeof keyColumns;

export const partTables = Object.keys(keyColumns) as readonly PartTable[];

/** The size of a step, well within the statement deadline. */
const rowsPerStep = 5_000;

/**
 * Deletes some rows after a key, and returns the key of the last one; undefined when no more are left.
 * Each step begins where the last one ended, because deleted rows stay in the index until a vacuum.
 * Rows are found by their physical address: with a join, outdated statistics could make the step quadratic.
 */
export async function deleteSomeRows(
  sql: Sql,
  part: number,
  table: PartTable,
  after: Row | undefined,
  field?: string,
  limit = rowsPerStep,
): Promise<Row | undefined> {
  const columns: readonly (readonly [string, string])[] = Object.entries(keyColumns[table]);
  const names = columns.map(([name]) => sql`${sql(name)}`);
  const start =
    after &&
    sql`AND (${list(sql, names)}) > (${list(
      sql,
      columns.map(([, type], index) => {
        const value = after[index] ?? null;
        return type === "text" ? sql`${value}::text` : sql`${value}::bigint`;
      }),
    )})`;
  const [last] = await rows<Row>(sql`
    WITH deleted AS (
      DELETE FROM ${sql(table)}
      WHERE part = ${part}::bigint AND ctid = ANY (ARRAY (
        SELECT ctid FROM ${sql(table)}
        WHERE part = ${part}::bigint ${field === undefined ? sql`` : sql`AND field = ${field}`}
          ${start ?? sql``}
        ORDER BY ${list(sql, names)} LIMIT ${limit}::bigint
      ))
      RETURNING ${list(sql, names)}
    )
    SELECT * FROM deleted ORDER BY ${list(sql, names)} OFFSET ${limit - 1}::bigint`);
  return last;
}

const list = (sql: Sql, items: readonly Statement[]): Statement =>
  items.reduce((one, other) => sql`${one}, ${other}`);
