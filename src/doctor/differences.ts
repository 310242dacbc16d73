// Reads the derived rows of a collection a second time, to name the resources whose rows differ.

import { readFiles } from "../model/file.ts";
import {
  type DerivedTable,
  type SourceRow,
  toResourceRow,
} from "../store/transfer/source-tables.ts";
import type { Snapshot, SourceCollection } from "../store/transfer/transfer.ts";
import type { DerivedRow, DerivedRows } from "./derived-rows.ts";
import { bucketOf, hashOf } from "./row-sums.ts";

export interface Difference {
  /** The path; undefined when there is no such resource. */
  readonly resource: string | undefined;
  /** The names of the indexes, where the rows are entries. */
  readonly indexes: readonly string[];
}

interface Input {
  readonly snapshot: Snapshot;
  readonly collection: SourceCollection;
}

/** Only so many buckets are looked at, which bounds the memory. */
const maxBuckets = 16;

/** The rows of some buckets that only one side has, and whose they are. */
class Unequal {
  readonly #counts = new Map<string, { readonly row: DerivedRow; count: number }>();
  readonly #owners = new Map<string, string>();
  readonly #buckets: ReadonlySet<number>;

  constructor(buckets: ReadonlySet<number>) {
    this.#buckets = new Set([...buckets].slice(0, maxBuckets));
  }

  includes(place: number): boolean {
    return this.#buckets.has(bucketOf(place));
  }

  count(row: DerivedRow, sign: 1 | -1): void {
    if (!this.includes(row.place)) return;
    const found = this.#counts.get(row.text) ?? { row, count: 0 };
    found.count += sign;
    if (found.count === 0) this.#counts.delete(row.text);
    else this.#counts.set(row.text, found);
  }

  /** A row belongs to the resource of its seq, or to that which names its key. */
  own(name: string, resource: string): void {
    this.#owners.set(name, resource);
  }

  differences(): readonly Difference[] {
    const rows = [...this.#counts.values()].map(({ row }) => row);
    const byOwner = Map.groupBy(rows, (row) => this.#owners.get(ownerName(row)));
    return [...byOwner].map(([resource, several]) => ({
      resource,
      indexes: [...new Set(several.map(({ text }) => text.split("\n", 1)[0] ?? ""))],
    }));
  }
}

const ownerName = ({ table, place, text }: DerivedRow): string =>
  table === "files" ? (text.split("\n", 1)[0] ?? "") : `${place}`;

export async function findDifferences(
  { snapshot, collection }: Input,
  derived: DerivedRows,
  table: DerivedTable,
  buckets: ReadonlySet<number>,
): Promise<readonly Difference[]> {
  const unequal = new Unequal(buckets);
  for await (const rows of snapshot.rows(collection.part, "resources"))
    for (const row of rows) addExpected(row, collection, derived, table, unequal);
  for await (const rows of snapshot.derived(collection.part, table))
    for (const row of rows) {
      const stored = derived.stored(table, row);
      if (stored) unequal.count(stored, -1);
    }
  return unequal.differences();
}

function addExpected(
  row: SourceRow,
  { name }: SourceCollection,
  derived: DerivedRows,
  table: DerivedTable,
  unequal: Unequal,
): void {
  const [seq, id, , , , , , files] = row;
  const path = `/${name}/${id}`;
  if (table === "files") {
    const keys = readFiles(files === null ? undefined : String(files)).map(({ key }) => key);
    for (const key of keys) if (unequal.includes(hashOf(key))) unequal.own(key, path);
    if (keys.length === 0) return;
  } else {
    if (!unequal.includes(Number(seq))) return;
    unequal.own(`${seq}`, path);
  }
  for (const each of derived.of(toResourceRow(row)))
    if (each.table === table) unequal.count(each, 1);
}

/** Returns the paths of resources by their seqs. */
export async function pathsOf(
  { snapshot, collection }: Input,
  seqs: ReadonlySet<number>,
): Promise<ReadonlyMap<number, string>> {
  const paths = new Map<number, string>();
  for await (const rows of snapshot.rows(collection.part, "resources"))
    for (const [seq, id] of rows)
      if (seqs.has(Number(seq))) paths.set(Number(seq), `/${collection.name}/${id}`);
  return paths;
}
