// Decides which stored rows are traces of what is erased.

import type { Erased, ErasedRows, Erasure } from "../erasure.ts";
import { decodeOutcomes } from "./stored-outcomes.ts";
import type { EngineWrites } from "./writes.ts";

const noIds: ReadonlySet<string> = new Set();

export class ErasedTraces {
  readonly subject: string | undefined;
  readonly #ids = new Map<string, Set<string>>();
  /** Keys are stored under the token of a caller, or under its subject. */
  readonly #keyOwners: ReadonlySet<string>;

  constructor({ changes, removed, subject }: Erasure, tokenIds: readonly string[]) {
    this.subject = subject;
    this.#keyOwners = new Set(subject === undefined ? [] : [subject, ...tokenIds]);
    for (const { collection, id } of [...changes, ...removed]) {
      const ids = this.#ids.get(collection) ?? new Set();
      this.#ids.set(collection, ids.add(id));
    }
  }

  idsIn(collection: string): ReadonlySet<string> {
    return this.#ids.get(collection) ?? noIds;
  }

  /** Whether a former owner, a former state or a clash can be one. */
  isAnyIn(collection: string): boolean {
    return this.subject !== undefined || this.#ids.has(collection);
  }

  isFormerOwner(collection: string, id: string, owner: string): boolean {
    return owner === this.subject || this.idsIn(collection).has(id);
  }

  isFormerState(collection: string, id: string, state: string): boolean {
    if (this.idsIn(collection).has(id)) return true;
    return this.subject !== undefined && JSON.parse(state).owner === this.subject;
  }

  isKey(owner: string, outcomes: string): boolean {
    if (this.#keyOwners.has(owner)) return true;
    return (decodeOutcomes(outcomes)?.resources ?? []).some(
      ({ collection, id, owner: owned }) =>
        this.idsIn(collection).has(id) || (owned !== undefined && owned === this.subject),
    );
  }
}

export const erasedOf = (rows: readonly ErasedRows[], tokens: number): Erased => ({
  kind: "erased",
  collections: rows.filter(
    ({ resources, removals, formerStates, keys }) => resources + removals + formerStates + keys > 0,
  ),
  tokens,
});

/** An erasure tells no feed what it has changed. Clients that follow one load everything anew. */
export const withoutTraces = (writes: EngineWrites): EngineWrites => ({
  ...writes,
  parts: writes.parts.map((part) => ({
    ...part,
    tombstones: [],
    formerOwners: [],
    formerStates: [],
  })),
});
