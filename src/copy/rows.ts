// Makes the rows of a replica those of a snapshot: what is there and the same is not written again.

import { createHash, type Hash } from "node:crypto";
import type { Track } from "../backup/track.ts";
import { compareRows } from "../store/transfer/compare-rows.ts";
import { asReplica, hasSameIndexes, PartReplica } from "../store/transfer/part-replica.ts";
import {
  type SourceRow,
  type SourceTable,
  sourceTableNames,
} from "../store/transfer/source-tables.ts";
import type {
  Replica,
  ReplicaWrites,
  Snapshot,
  SourceCollection,
} from "../store/transfer/transfer.ts";

/** The number of rows of a table, and a hash over all of them in order. */
export interface TableDigest {
  readonly rows: number;
  readonly sha256: string;
}

export class Digester {
  readonly #hash: Hash = createHash("sha256");
  #rows = 0;

  add(rows: readonly SourceRow[]): void {
    this.#rows += rows.length;
    for (const row of rows) this.#hash.update(`${JSON.stringify(row)}\n`);
  }

  finish(): TableDigest {
    return { rows: this.#rows, sha256: this.#hash.digest("hex") };
  }
}

/** The digests of the tables of a part. */
export type PartDigests = Readonly<Record<SourceTable, TableDigest>>;

interface KnownPart {
  /** All of the collection that says whether its rows have changed. */
  readonly state: string;
  readonly digests: PartDigests;
}

export class RowCopier {
  readonly #replica: Replica;
  readonly #track: Track;
  readonly #removeFiles: (keys: readonly string[]) => Promise<void>;
  /** The parts that are copied, as they were then. */
  readonly #known = new Map<number, KnownPart>();
  #changes = 0;

  constructor(
    replica: Replica,
    track: Track,
    removeFiles: (keys: readonly string[]) => Promise<void>,
  ) {
    this.#replica = replica;
    this.#track = track;
    this.#removeFiles = removeFiles;
  }

  digestsOf(part: number): PartDigests | undefined {
    return this.#known.get(part)?.digests;
  }

  /** Compares all rows. Progress has a name. */
  async copy(snapshot: Snapshot, name: string): Promise<void> {
    const total = snapshot.collections.reduce((sum, { head }) => sum + head.total, 0);
    const step = this.#track(name, { total, unit: "resources" });
    this.#known.clear();
    await this.#copyAll(snapshot, step.add);
    step.done();
  }

  /** Compares what can have changed since the last time. Returns how many rows have. */
  async follow(snapshot: Snapshot): Promise<number> {
    const before = this.#changes;
    await this.#copyAll(snapshot, () => undefined);
    return this.#changes - before;
  }

  async #copyAll(snapshot: Snapshot, add: (count: number) => void): Promise<void> {
    const present = await this.#replica.state();
    const collections = snapshot.collections.map(asReplica);
    const isWanted = (there: SourceCollection) =>
      collections.some((each) => isSameCollection(each, there) && hasSameIndexes(each, there));
    for (const there of present.collections)
      if (!isWanted(there)) {
        this.#known.delete(there.part);
        await this.#replica.remove(there);
      }
    const kept = new Set(present.collections.filter(isWanted).map(({ part }) => part));
    for (const collection of collections) {
      if (!kept.has(collection.part)) await this.#replica.begin(collection);
      const rowsThere = kept.has(collection.part) ? present.rows : noRows;
      await this.#copyPart(collection, snapshot.rows, rowsThere, add);
    }
    await this.#replica.finish({ ...snapshot, collections });
  }

  async #copyPart(
    collection: SourceCollection,
    wanted: Snapshot["rows"],
    present: Snapshot["rows"],
    add: (count: number) => void,
  ): Promise<void> {
    const { part } = collection;
    const state = JSON.stringify(collection);
    const known = this.#known.get(part);
    const digests: Partial<Record<SourceTable, TableDigest>> = {};
    const replica = new PartReplica(collection);
    for (const table of sourceTableNames) {
      const digest = known?.state === state ? known.digests[table] : undefined;
      // Keys are erased and expire without a change of the collection.
      if (digest && table !== "idempotency_keys") {
        digests[table] = digest;
        continue;
      }
      const digester = new Digester();
      for await (const difference of compareRows(
        table,
        wanted(part, table),
        present(part, table),
      )) {
        digester.add(difference.rows);
        this.#changes += difference.inserted.length + difference.deleted.length;
        const writes = replica.writesOf(table, difference);
        if (writes) await this.#write(writes);
        if (table === "resources") add(difference.rows.length);
      }
      const last = table === "resources" ? replica.finish() : undefined;
      if (last) await this.#replica.write(last);
      digests[table] = digester.finish();
    }
    this.#known.set(part, { state, digests: digests as PartDigests });
  }

  /** The bytes of files go with the last row that names them. */
  async #write(writes: ReplicaWrites): Promise<void> {
    await this.#replica.write(writes);
    const { deletedFiles, files } = writes.derived;
    const kept = new Set(files.map(({ key }) => key));
    const removed = deletedFiles.filter((key) => !kept.has(key));
    if (removed.length > 0) await this.#removeFiles(removed);
  }
}

const isSameCollection = (one: SourceCollection, other: SourceCollection): boolean =>
  one.name === other.name && one.part === other.part;

async function* noRows(): AsyncGenerator<readonly SourceRow[]> {}
