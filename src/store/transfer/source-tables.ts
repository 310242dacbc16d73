// Lists the tables of a part that nothing else can be computed from, the same on every engine.

import type { KeyRow, ResourceRow } from "../core/rows.ts";

interface TableShape {
  /** The name in SQL, where it is another one. */
  readonly from?: string;
  readonly columns: readonly string[];
  /** The columns by which rows are ordered, after `part`. */
  readonly key: readonly string[];
  /** The column that can be large. */
  readonly large?: string;
}

const resourceColumns = [
  "seq",
  "id",
  "revision",
  "created",
  "updated",
  "fields",
  "owner",
  "files",
  "shares_date",
  "checksum",
] as const;

/** The order of the columns is also that in a backup, so that it never changes. */
const sourceTables = {
  resources: { columns: resourceColumns, key: ["seq"], large: "fields" },
  tombstones: { columns: ["id", "revision", "removed", "owner"], key: ["revision"] },
  former_owners: { columns: ["revision", "id", "owner", "changed"], key: ["revision"] },
  former_states: {
    columns: ["id", "revision", "since", "changed", "state"],
    key: ["revision"],
    large: "state",
  },
  idempotency_keys: {
    columns: ["owner", "key", "fingerprint", "outcomes", "expires"],
    key: ["owner", "key"],
    large: "outcomes",
  },
  epochs: { columns: ["epoch", "last"], key: ["epoch"] },
} as const satisfies Readonly<Record<string, TableShape>>;

export type SourceTable = keyof typeof sourceTables;

/** The tables of a part that are computed from its resources. The counts of positions are a text here. */
const derivedTables = {
  entries: { columns: ["seq", "field", "key"], key: ["field", "key", "seq"] },
  words: { columns: ["seq", "word", "rank"], key: ["word", "rank", "seq"] },
  files: { columns: ["key", "owner", "bytes"], key: ["key"] },
  positions: { columns: ["level", "row", "alive"], key: ["level", "row"] },
} as const satisfies Readonly<Record<string, TableShape>>;

export type DerivedTable = keyof typeof derivedTables;

export const derivedTableNames = Object.keys(derivedTables) as readonly DerivedTable[];

export const sourceTableNames = Object.keys(sourceTables) as readonly SourceTable[];

/** The columns of a row, in the order of its table. */
export type SourceRow = readonly (string | number | null)[];

/** The size of a step. */
export const stepRows = 1_000;
export const stepBytes = 2 * 1024 * 1024;

export type AnyTable = SourceTable | DerivedTable;

const shapes: Readonly<Record<AnyTable, TableShape>> = { ...sourceTables, ...derivedTables };

export const shapeOf = (table: AnyTable): TableShape => shapes[table];

const textColumns: ReadonlySet<string> = new Set([
  "id",
  "fields",
  "owner",
  "files",
  "state",
  "key",
  "fingerprint",
  "outcomes",
  "field",
  "word",
]);

/** The other columns are numbers. */
export const isTextColumn = (column: string): boolean => textColumns.has(column);

/** Returns the values of the key of a row. */
export function keyOf(table: AnyTable, row: SourceRow): SourceRow {
  const { columns, key } = shapeOf(table);
  return key.map((name) => row[columns.indexOf(name)] ?? null);
}

type TransferColumns = readonly [
  ...(readonly [seq: number, id: string, revision: number, created: number, updated: number]),
  ...(readonly [fields: string, owner: string | null, files: string | null]),
  ...(readonly [sharesDate: number, checksum: number]),
];

export function toResourceRow(row: SourceRow): ResourceRow {
  const [seq, id, revision, createdAt, updatedAt, ...content] = row as TransferColumns;
  const [fields, owner, files, sharesDate, checksum] = content;
  const bytes = Buffer.byteLength(fields);
  const times = { createdAt, updatedAt };
  return { seq, id, revision, ...times, fields, bytes, owner, files, sharesDate, checksum };
}

type KeyColumns = readonly [
  ...(readonly [owner: string, key: string, fingerprint: string]),
  ...(readonly [outcomes: string, expiresAt: number]),
];

export function toKeyRow(row: SourceRow): KeyRow {
  const [owner, key, fingerprint, outcomes, expiresAt] = row as KeyColumns;
  return { owner, key, fingerprint, outcomes, expiresAt };
}
