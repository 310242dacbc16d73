// Says which derived rows a resource must have, and which of the stored ones to compare with them.

import { emptyIndexPlan, type Index, type IndexPlan } from "../model/query/index-plan.ts";
import { collectResource } from "../store/core/collect-resource.ts";
import { phaseOf, plansOf } from "../store/core/index-build.ts";
import { PositionTreeBuilder } from "../store/core/position-tree-builder.ts";
import type { FileRow, ResourceRow } from "../store/core/rows.ts";
import { noPartWrites } from "../store/core/writes.ts";
import type { DerivedTable, SourceRow } from "../store/transfer/source-tables.ts";
import type { SourceCollection } from "../store/transfer/transfer.ts";
import { hashOf } from "./row-sums.ts";

export interface DerivedRow {
  readonly table: DerivedTable;
  /** The seq of the resource, or a hash where the row has none. */
  readonly place: number;
  readonly text: string;
}

const entry = (seq: number, field: string, key: string): DerivedRow => ({
  table: "entries",
  place: seq,
  text: `${field}\n${seq}\n${key}`,
});

const word = (seq: number, term: string, rank: number): DerivedRow => ({
  table: "words",
  place: seq,
  text: `${term}\n${seq}\n${rank}`,
});

const file = ({ key, owner, bytes }: FileRow): DerivedRow => ({
  table: "files",
  place: hashOf(key),
  text: `${key}\n${bytes}\n${owner ?? ""}`,
});

function position(level: number, row: number, alive: string): DerivedRow {
  const text = `${level} ${row} ${alive}`;
  return { table: "positions", place: hashOf(text), text };
}

export class DerivedRows {
  readonly #collection: SourceCollection;
  readonly #plan: IndexPlan;
  readonly #indexes: ReadonlySet<string>;
  readonly #isBuilding: boolean;
  readonly #areWordsBuilding: boolean;

  /** Indexes that are being built or dropped are left out. */
  constructor(collection: SourceCollection) {
    const { definition, build } = collection;
    this.#collection = collection;
    this.#plan = plansOf(definition, build).read;
    this.#indexes = new Set(this.#plan.indexes.map(({ name }) => name));
    this.#isBuilding = build !== undefined && phaseOf(build) !== "none";
    this.#areWordsBuilding =
      this.#isBuilding && (this.#plan.isSearchIncomplete === true || build?.areWordsStale === true);
  }

  /** Throws SyntaxError when the fields are no JSON. */
  of(row: ResourceRow): readonly DerivedRow[] {
    const { part, head } = this.#collection;
    const writes = noPartWrites(part, head, false);
    const change = { id: row.id, stored: undefined, written: row, removal: undefined };
    collectResource(writes, this.#plan, change);
    return [
      ...writes.entries.map(({ seq, field, key }) => entry(seq, field, key)),
      ...(this.#areWordsBuilding
        ? []
        : writes.words.map((each) => word(each.seq, each.word, -each.weight))),
      ...writes.files.map(file),
    ];
  }

  /** Returns what counts the positions, and gives the rows to the function. */
  tree(add: (row: DerivedRow) => void): PositionTreeBuilder {
    return new PositionTreeBuilder(({ level, row, alive = [] }) =>
      add(position(level, row, alive.join())),
    );
  }

  /** The indexes whose values must differ, by name; none while values are compared. */
  unique(): ReadonlyMap<string, Index> {
    const { indexes } = this.#collection.build === undefined ? this.#plan : emptyIndexPlan;
    return new Map(indexes.filter(({ isUnique }) => isUnique).map((index) => [index.name, index]));
  }

  /** Returns undefined when the row is one of those that are left out. */
  stored(table: DerivedTable, row: SourceRow): DerivedRow | undefined {
    const [one, two, three] = row;
    switch (table) {
      case "entries":
        return this.#isBuilding && !this.#indexes.has(String(two))
          ? undefined
          : entry(Number(one), String(two), String(three));
      case "words":
        return this.#areWordsBuilding ? undefined : word(Number(one), String(two), Number(three));
      case "files":
        return file({
          key: String(one),
          owner: two === null ? null : String(two),
          bytes: Number(three),
        });
      case "positions":
        return position(Number(one), Number(two), String(three));
    }
  }
}
