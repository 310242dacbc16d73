// Computes what a replica writes so that the rows of a part are those of its source.

import { collectResource } from "../core/collect-resource.ts";
import { plansOf } from "../core/index-build.ts";
import type { TreeWrite } from "../core/position-tree.ts";
import { PositionTreeBuilder } from "../core/position-tree-builder.ts";
import { noPartWrites, type PartWrites } from "../core/writes.ts";
import type { RowDifference } from "./compare-rows.ts";
import { withBuiltRows } from "./part-loader.ts";
import { type SourceRow, type SourceTable, toResourceRow } from "./source-tables.ts";
import type { ReplicaWrites, SourceCollection } from "./transfer.ts";

/** A collection as a replica has it: the rows of its indexes are complete. */
export const asReplica = (collection: SourceCollection): SourceCollection => ({
  ...collection,
  build: collection.build && withBuiltRows(collection.build),
});

/** Whether the index rows of one can be those of the other. Both are as a replica has them. */
export const hasSameIndexes = (one: SourceCollection, other: SourceCollection): boolean =>
  one.definition === other.definition;

export class PartReplica {
  readonly #collection: SourceCollection;
  readonly #plan: ReturnType<typeof plansOf>["write"];
  readonly #tree: PositionTreeBuilder;
  #treeRows: TreeWrite[] = [];
  #isNewTree = true;

  constructor(collection: SourceCollection) {
    this.#collection = collection;
    this.#plan = plansOf(collection.definition, collection.build).write;
    this.#tree = new PositionTreeBuilder((row) => this.#treeRows.push(row));
  }

  /** Differences must come in order. Returns undefined when there is nothing to write. */
  writesOf(
    table: SourceTable,
    { rows, deleted, inserted }: RowDifference,
  ): ReplicaWrites | undefined {
    const derived = this.#noWrites();
    if (table === "resources") {
      for (const [seq] of rows) this.#tree.add(Number(seq) - 1);
      for (const row of deleted) this.#collectDeleted(derived, row);
      for (const row of inserted) this.#collect(derived, row);
    }
    return this.#writes({ table, deleted, inserted, derived });
  }

  /** Returns the last rows of the position tree. */
  finish(): ReplicaWrites | undefined {
    this.#tree.finish(this.#collection.head.seq);
    const rows = { deleted: [], inserted: [], derived: this.#noWrites() };
    return this.#writes({ table: "resources", ...rows });
  }

  #noWrites(): PartWrites {
    const { part, head } = this.#collection;
    return noPartWrites(part, head, false);
  }

  #writes(writes: Omit<ReplicaWrites, "tree" | "isNewTree">): ReplicaWrites | undefined {
    const tree = this.#treeRows;
    this.#treeRows = [];
    if (tree.length + writes.deleted.length + writes.inserted.length === 0) return undefined;
    const isNewTree = this.#isNewTree && writes.table === "resources";
    if (isNewTree) this.#isNewTree = false;
    return { ...writes, tree, isNewTree };
  }

  #collectDeleted(derived: PartWrites, row: SourceRow): void {
    const former = this.#noWrites();
    this.#collect(former, row);
    derived.deletedEntries.push(...former.entries);
    derived.deletedWords.push(...former.words);
    derived.deletedFiles.push(...former.files.map(({ key }) => key));
  }

  #collect(derived: PartWrites, row: SourceRow): void {
    const written = toResourceRow(row);
    const change = { id: written.id, stored: undefined, written, removal: undefined };
    const collected = this.#noWrites();
    try {
      collectResource(collected, this.#plan, change);
    } catch (error) {
      // A damaged row is copied as it is, without index rows. Readers report it.
      if (!(error instanceof SyntaxError)) throw error;
      return;
    }
    derived.entries.push(...collected.entries);
    derived.words.push(...collected.words);
    derived.files.push(...collected.files);
  }
}
