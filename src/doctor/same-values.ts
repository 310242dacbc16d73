// Finds resources that have the same value where it must be unique, among entries in their order.

import type { Index } from "../model/query/index-plan.ts";
import { isMissingValue } from "../store/core/checked-entries.ts";
import type { SourceRow } from "../store/transfer/source-tables.ts";

export interface SameValue {
  readonly index: string;
  readonly seqs: readonly [number, number];
}

/** More are not named. */
const maxPairs = 10;

export class SameValues {
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
