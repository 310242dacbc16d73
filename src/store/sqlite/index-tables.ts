// The tables that have the entries of indexes: one for declared indexes, and the resources for the free ones.

import { equalTo, type Span } from "../../model/query/sort-key.ts";
import { type FreeColumn, freeColumnOf, rangeIn } from "../core/free-indexes.ts";
import type { Value } from "./connection.ts";

export interface IndexTable {
  readonly name: string;
  /** The column of the keys. */
  readonly key: string;
  /** Selects the entries of one index. */
  readonly where: string;
  /** Returns the values of `where` and of the first and the last key of a span. */
  bind(part: number, index: string, span: Span): readonly Value[];
  /** Returns the smallest key after this one. */
  after(key: string | number): string | number;
}

const freeTable = (column: FreeColumn): IndexTable => ({
  name: "resources",
  key: column,
  where: "part = ?",
  bind(part, _index, span) {
    const { from, to } = rangeIn(column, span);
    return [part, from, to];
  },
  after: (key) => (typeof key === "number" ? key + 1 : `${key}\u0001`),
});

export const tables = {
  entries: {
    name: "entries",
    key: "key",
    where: "part = ? AND field = ?",
    bind: (part, index, { from, to }) => [part, index, from, to],
    after: (key) => equalTo(String(key)).to,
  },
  id: freeTable("id"),
  created: freeTable("created"),
  updated: freeTable("updated"),
} as const satisfies Readonly<Record<string, IndexTable>>;

export const tableOf = (index: string): IndexTable => tables[freeColumnOf(index) ?? "entries"];
