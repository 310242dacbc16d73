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
      WHERE part + 0 = ${part}::bigint AND ctid = ANY (ARRAY (
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

/** An array of values for each column of a key. */
export type Keys = Readonly<Record<string, Statement>>;

export const deleteByKeys = (sql: Sql, part: number, table: string, keys: Keys): Statement => sql`
  DELETE FROM ${sql(table)}
  WHERE part + 0 = ${part}::bigint AND ctid = ANY (ARRAY(${addressesOf(sql, part, table, keys)}))`;

/**
 * Selects the addresses of the rows with these keys, with one lookup for each. In a join, or with
 * `= ANY`, a plan that was made while the table was small may read the whole part. With LIMIT, the
 * planner expects few rows.
 */
export function addressesOf(sql: Sql, part: number, table: string, keys: Keys): Statement {
  const names = Object.keys(keys).map((name) => sql`${sql(name)}`);
  const last = names.at(-1) ?? sql``;
  const others = names
    .slice(0, -1)
    .reduce((all, name) => sql`${all} AND ${name} = wanted.${name}`, sql``);
  return sql`
    SELECT found.address
    FROM unnest(${list(sql, Object.values(keys))}) AS wanted (${list(sql, names)})
    CROSS JOIN LATERAL (
      SELECT ctid AS address FROM ${sql(table)}
      WHERE part = ${part}::bigint ${others} AND ${last} BETWEEN wanted.${last} AND wanted.${last}
      ORDER BY ${last} LIMIT 1
    ) AS found`;
}
