// Computes the rows that are written when the rows of a part are loaded, index rows and positions included.

import { Outage } from "../../model/outage.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import { collectResource } from "../core/collect-resource.ts";
import { type IndexBuild, isDone, plansOf } from "../core/index-build.ts";
import type { TreeWrite } from "../core/position-tree.ts";
import { PositionTreeBuilder } from "../core/position-tree-builder.ts";
import { noPartWrites, type PartWrites } from "../core/writes.ts";
import { type SourceRow, type SourceTable, toKeyRow, toResourceRow } from "./source-tables.ts";
import type { SourceCollection } from "./transfer.ts";

export type EpochRow = readonly [epoch: number, last: number];

export interface LoadedRows {
  /** Its head is not to be written: the part has none before it is published. */
  readonly writes: PartWrites;
  readonly tree: readonly TreeWrite[];
  readonly epochs: readonly EpochRow[];
}

export class PartLoader {
  readonly collection: SourceCollection;
  /** What is left of the index build: only the comparison of values. */
  readonly build: IndexBuild | undefined;
  readonly #plan: IndexPlan;
  readonly #tree: PositionTreeBuilder;
  #treeRows: TreeWrite[] = [];
  #total = 0;

  constructor(collection: SourceCollection) {
    this.collection = collection;
    this.build = collection.build && withBuiltRows(collection.build);
    this.#plan = plansOf(collection.definition, this.build).write;
    this.#tree = new PositionTreeBuilder((row) => this.#treeRows.push(row));
  }

  add(table: SourceTable, rows: readonly SourceRow[]): LoadedRows {
    const { part, head } = this.collection;
    const writes = noPartWrites(part, head, false);
    const epochs: EpochRow[] = [];
    for (const row of rows) this.#collect(writes, epochs, table, row);
    return { writes, epochs, tree: this.#takeTree() };
  }

  /** Returns the last rows of the position tree. Throws when resources are missing. */
  finish(): readonly TreeWrite[] {
    const { name, head } = this.collection;
    if (this.#total !== head.total)
      throw new Outage("damaged", `${name} has ${this.#total} resources instead of ${head.total}`);
    this.#tree.finish(head.seq);
    return this.#takeTree();
  }

  #takeTree(): readonly TreeWrite[] {
    const rows = this.#treeRows;
    this.#treeRows = [];
    return rows;
  }

  #collect(writes: PartWrites, epochs: EpochRow[], table: SourceTable, row: SourceRow): void {
    switch (table) {
      case "resources":
        this.#collectResource(writes, row);
        return;
      case "tombstones": {
        const [id, revision, removedAt, owner] = row as readonly [string, number, number, string];
        writes.tombstones.push({ id, revision, removedAt, owner });
        return;
      }
      case "former_owners": {
        const [revision, id, owner, changedAt] = row as readonly [number, string, string, number];
        writes.formerOwners.push({ id, revision, owner, changedAt });
        return;
      }
      case "former_states": {
        const [id, revision, since, changedAt, state] = row as FormerStateColumns;
        writes.formerStates.push({ id, revision, since, changedAt, state });
        return;
      }
      case "idempotency_keys":
        writes.keys.push(toKeyRow(row));
        return;
      case "epochs":
        epochs.push(row as EpochRow);
    }
  }

  #collectResource(writes: PartWrites, row: SourceRow): void {
    const written = toResourceRow(row);
    const change = { id: written.id, stored: undefined, written, removal: undefined };
    try {
      collectResource(writes, this.#plan, change);
    } catch (error) {
      // A damaged row is loaded as it is, without index rows. Readers report it.
      if (!(error instanceof SyntaxError)) throw error;
    }
    this.#tree.add(written.seq - 1);
    this.#total++;
  }
}

type FormerStateColumns = readonly [
  ...(readonly [id: string, revision: number, since: number]),
  ...(readonly [changedAt: number, state: string]),
];

/** The rows of all indexes are written with the resources. Values that must be unique are still compared. */
export function withBuiltRows(build: IndexBuild): IndexBuild | undefined {
  const built = { ...build, stale: [], areWordsStale: false, isBuilt: true, dropped: [], seq: 0 };
  return isDone(built) ? undefined : built;
}
