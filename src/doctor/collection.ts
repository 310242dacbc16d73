// Checks one collection: the checksums of its resources, its counts, and the rows that are derived from them.

import { readFiles, type StoredFile } from "../model/file.ts";
import type { Index } from "../model/query/index-plan.ts";
import { isMissingValue } from "../store/core/checked-entries.ts";
import { isIntact } from "../store/core/stored-resource.ts";
import {
  type DerivedTable,
  derivedTableNames,
  type SourceRow,
  toResourceRow,
} from "../store/transfer/source-tables.ts";
import type { Snapshot, SourceCollection } from "../store/transfer/transfer.ts";
import { DerivedRows } from "./derived-rows.ts";
import { type Difference, findDifferences, pathsOf } from "./differences.ts";
import type { Findings, FoundProblem } from "./finding.ts";
import { bucketOf, RowSums } from "./row-sums.ts";

export interface CheckedCollection {
  readonly collection: SourceCollection;
  readonly total: number;
  /** How many files its resources have, and their size. */
  readonly files: number;
  readonly fileBytes: number;
  /** Whether what is wrong can be computed again from the resources. */
  readonly isRepairable: boolean;
}

/** What the resources say. */
interface CountedRows {
  total: number;
  bytes: number;
  lastSeq: number;
  lastRevision: number;
  files: number;
  fileBytes: number;
}

type Sums = Readonly<Record<DerivedTable, RowSums>>;

export async function checkCollection(
  snapshot: Snapshot,
  collection: SourceCollection,
  findings: Findings,
  add: (resources: number) => void,
): Promise<CheckedCollection> {
  return new CollectionCheck(snapshot, collection, findings).run(add);
}

/** The columns of a resource whose checksum is right. */
export function isIntactRow([, id, revision, created, updated, ...rest]: SourceRow): boolean {
  const [fields, owner, files, sharesDate, checksum] = rest;
  const stored = [id, revision, created, updated, fields, owner, files, sharesDate];
  return isIntact(...([stored, checksum] as unknown as Parameters<typeof isIntact>));
}

/** The files of a resource whose checksum is right. */
export const filesOf = ([, , , , , , , files]: SourceRow): readonly StoredFile[] =>
  readFiles(typeof files === "string" ? files : undefined);

class CollectionCheck {
  readonly #snapshot: Snapshot;
  readonly #collection: SourceCollection;
  readonly #findings: Findings;
  readonly #derived: DerivedRows;
  readonly #same: SameValues;
  readonly #sums = Object.fromEntries(
    derivedTableNames.map((table) => [table, new RowSums()]),
  ) as unknown as Sums;
  readonly #counts: CountedRows = {
    total: 0,
    bytes: 0,
    lastSeq: 0,
    lastRevision: 0,
    files: 0,
    fileBytes: 0,
  };
  /** The buckets of damaged resources, whose derived rows are not known. */
  readonly #unknown = new Set<number>();

  constructor(snapshot: Snapshot, collection: SourceCollection, findings: Findings) {
    this.#snapshot = snapshot;
    this.#collection = collection;
    this.#findings = findings;
    this.#derived = new DerivedRows(collection);
    this.#same = new SameValues(this.#derived.unique());
  }

  async run(add: (resources: number) => void): Promise<CheckedCollection> {
    await this.#readResources(add);
    await this.#readRemovals();
    await this.#readDerived();
    add(this.#counts.total / 2);
    const differing = this.#differingTables();
    const { total, files, fileBytes } = this.#counts;
    const isLost = total !== this.#collection.head.total && differing.has("positions");
    const isRepairable = this.#unknown.size === 0 && !isLost;
    this.#compareCounts(isLost, isRepairable);
    for (const [table, buckets] of differing) await this.#explain(table, buckets, isRepairable);
    if (!differing.has("entries")) await this.#reportSame();
    return { collection: this.#collection, total, files, fileBytes, isRepairable };
  }

  /** Only when the entries are right: otherwise it is said after a repair. */
  async #reportSame(): Promise<void> {
    const { found } = this.#same;
    if (found.length === 0) return;
    const input = { snapshot: this.#snapshot, collection: this.#collection };
    const paths = await pathsOf(input, new Set(found.flatMap(({ seqs }) => seqs)));
    for (const { index, seqs } of found) {
      const [one, other] = seqs.map((seq) => paths.get(seq) ?? "");
      this.#findings.add("unique values", {
        state: "error",
        collection: this.#collection.name,
        ...(other && { resource: other }),
        message: `${one} and ${other} have the same ${index}, which must be unique.`,
        advice: "Change or delete one of them.",
      });
    }
  }

  async #readResources(add: (resources: number) => void): Promise<void> {
    const { part, head } = this.#collection;
    const sum = (row: Parameters<Parameters<DerivedRows["tree"]>[0]>[0]) =>
      this.#sums[row.table].add(row.place, row.text);
    const tree = this.#derived.tree(sum);
    for await (const rows of this.#snapshot.rows(part, "resources")) {
      for (const row of rows) {
        tree.add(Number(row[0]) - 1);
        this.#count(row);
        if (isIntactRow(row)) {
          this.#countFiles(row);
          this.#derived.of(toResourceRow(row)).forEach(sum);
        } else this.#reportDamage(row);
      }
      // The other half of the work is to read what is derived from them.
      add(rows.length / 2);
    }
    tree.finish(Math.max(head.seq, this.#counts.lastSeq));
  }

  #count(row: SourceRow): void {
    const counts = this.#counts;
    const [seq, , revision, , , fields] = row;
    counts.total++;
    counts.bytes += Buffer.byteLength(String(fields));
    counts.lastSeq = Math.max(counts.lastSeq, Number(seq));
    counts.lastRevision = Math.max(counts.lastRevision, Number(revision));
  }

  #countFiles(row: SourceRow): void {
    for (const { size } of filesOf(row)) {
      this.#counts.files++;
      this.#counts.fileBytes += size;
    }
  }

  async #readRemovals(): Promise<void> {
    for await (const rows of this.#snapshot.rows(this.#collection.part, "tombstones"))
      for (const [, revision] of rows)
        this.#counts.lastRevision = Math.max(this.#counts.lastRevision, Number(revision));
  }

  async #readDerived(): Promise<void> {
    for (const table of derivedTableNames)
      for await (const rows of this.#snapshot.derived(this.#collection.part, table))
        for (const row of rows) {
          if (table === "entries") this.#same.see(row);
          const stored = this.#derived.stored(table, row);
          if (stored) this.#sums[table].subtract(stored.place, stored.text);
        }
  }

  /** A damaged resource may have had files under any key. */
  #differingTables(): ReadonlyMap<DerivedTable, readonly number[]> {
    const found = derivedTableNames.map((table) => {
      const isUnknown = (bucket: number) =>
        table === "files" ? this.#unknown.size > 0 : this.#unknown.has(bucket);
      const buckets = this.#sums[table].differing();
      return [
        table,
        buckets.filter((bucket) => table === "positions" || !isUnknown(bucket)),
      ] as const;
    });
    return new Map(found.filter(([, buckets]) => buckets.length > 0));
  }

  #reportDamage([seq, id]: SourceRow): void {
    const { name } = this.#collection;
    const resource = `/${name}/${id}`;
    this.#unknown.add(bucketOf(Number(seq)));
    this.#findings.add("resources", {
      state: "error",
      collection: name,
      resource,
      message: `${resource} is not as it was stored: its checksum is wrong.`,
      advice: restoreAdvice(name),
    });
  }

  #compareCounts(isLost: boolean, isRepairable: boolean): void {
    const { head, version, name } = this.#collection;
    const { total, bytes, lastSeq, lastRevision } = this.#counts;
    const report = (message: string) => this.#add("counts", `${name}: ${message}.`, isRepairable);
    if (isLost)
      this.#add("counts", `${name} has ${total} resources instead of ${head.total}.`, false);
    else if (total !== head.total)
      report(`the stored count is ${head.total}, and there are ${total} resources`);
    if (!isLost && bytes !== head.bytes)
      report(`the stored size is ${head.bytes} bytes, and the resources have ${bytes}`);
    if (lastSeq > head.seq)
      report(`the last stored position is ${head.seq}, and a resource has ${lastSeq}`);
    if (lastRevision > head.revision)
      report(`the last stored revision is ${head.revision}, and a change has ${lastRevision}`);
    if (version !== head.version)
      report(`the versions of its definition differ (${version} and ${head.version})`);
  }

  async #explain(
    table: DerivedTable,
    buckets: readonly number[],
    isRepairable: boolean,
  ): Promise<void> {
    const { name } = this.#collection;
    const add = (message: string, resource?: string) =>
      this.#add(checkNames[table], message, isRepairable, resource);
    if (table === "positions") return add(`The positions of ${name} are wrong: its pages may be.`);
    const input = { snapshot: this.#snapshot, collection: this.#collection };
    const found = await findDifferences(input, this.#derived, table, new Set(buckets));
    for (const difference of found) add(messageOf(name, table, difference), difference.resource);
    if (found.length === 0) add(`The ${checkNames[table]} of ${name} are wrong.`);
  }

  #add(check: string, message: string, isRepairable: boolean, resource?: string): void {
    const { name: collection } = this.#collection;
    const problem: FoundProblem = {
      state: "error",
      message,
      collection,
      isRepairable,
      ...(resource !== undefined && { resource }),
      advice: isRepairable ? repairAdvice(this.#snapshot.engine) : restoreAdvice(collection),
    };
    this.#findings.add(check, problem);
  }
}

const checkNames: Readonly<Record<DerivedTable, string>> = {
  entries: "indexes",
  words: "search words",
  files: "file references",
  positions: "positions",
};

function messageOf(name: string, table: DerivedTable, { resource, indexes }: Difference): string {
  const what = table === "entries" ? `index entries (${indexes.join(", ")})` : checkNames[table];
  return resource === undefined
    ? `${name} has ${what} of a resource that does not exist.`
    : `The ${what} of ${resource} are wrong.`;
}

/** On Postgres the nodes can run. */
export const repairAdvice = (engine: Snapshot["engine"]): string =>
  engine === "sqlite"
    ? "Stop the server, and run restante doctor --repair."
    : "Run restante doctor --repair.";

const restoreAdvice = (name: string): string =>
  `Restore the collection from a backup: restante restore --collection ${name} --overwrite.`;

interface SameValue {
  readonly index: string;
  readonly seqs: readonly [number, number];
}

/** More are not named. */
const maxPairs = 10;

class SameValues {
  readonly #unique: ReadonlyMap<string, Index>;
  readonly #found: SameValue[] = [];
  #last: SourceRow = [];

  constructor(unique: ReadonlyMap<string, Index>) {
    this.#unique = unique;
  }

  get found(): readonly SameValue[] {
    return this.#found;
  }

  see(row: SourceRow): void {
    const [seq, field, key] = row;
    const [lastSeq, lastField, lastKey] = this.#last;
    this.#last = row;
    if (key !== lastKey || field !== lastField || this.#found.length === maxPairs) return;
    const index = this.#unique.get(String(field));
    if (index === undefined || isMissingValue(index, String(key))) return;
    this.#found.push({ index: index.name, seqs: [Number(lastSeq), Number(seq)] });
  }
}
