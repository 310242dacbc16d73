// Knows the state of each resource of a collection while a batch is applied: as it is stored, and as it was written.

import type { Outcome } from "../store.ts";
import { isRemoval, timeOf, type WrittenRow } from "./collect-resource.ts";
import type { FileHolder } from "./file-references.ts";
import type { FileUse } from "./file-use.ts";
import type { ResourceState, StateBefore } from "./state.ts";

export interface StatesOptions {
  readonly part: number;
  /** Whether the batch creates the collection, so that nothing is stored. */
  readonly isNew: boolean;
  readonly needsFields: () => boolean;
  readonly fileUse: FileUse;
}

const fileHolder = (written: WrittenRow): FileHolder | undefined =>
  isRemoval(written) ? undefined : written;

export class ResourceStates {
  readonly #state: StateBefore;
  readonly #options: StatesOptions;
  /** The stored resources that were looked up. */
  readonly #stored = new Map<string, ResourceState | undefined>();
  readonly #written = new Map<string, WrittenRow>();

  constructor(state: StateBefore, options: StatesOptions) {
    this.#state = state;
    this.#options = options;
  }

  /** What the batch has written, by id. */
  get written(): ReadonlyMap<string, WrittenRow> {
    return this.#written;
  }

  /** Whether the resource was written or looked up. */
  isKnown(id: string): boolean {
    return this.#written.has(id) || this.#stored.has(id);
  }

  /** The current state; undefined when the resource does not exist. `isWhole`: with its fields. */
  find(id: string, isWhole = false): ResourceState | undefined {
    const written = this.#written.get(id);
    if (!written) return this.stored(id, isWhole);
    return isRemoval(written) ? undefined : written;
  }

  /** The state before the batch. */
  stored(id: string, isWhole = false): ResourceState | undefined {
    const { part, isNew, needsFields } = this.#options;
    if (isNew) return undefined;
    const known = this.#stored.get(id);
    if (this.#stored.has(id) && !(isWhole && known?.fields === null)) return known;
    const state = this.#state.resource(part, id, isWhole || needsFields());
    this.#stored.set(id, state);
    return state;
  }

  /** Returns the time of the last change at an id, including a removal. */
  changedAt(id: string): number | undefined {
    const written = this.#written.get(id);
    if (written) return timeOf(written);
    return this.stored(id)?.updatedAt ?? this.#state.removal(this.#options.part, id)?.removedAt;
  }

  /** Returns the outcome when the files of the next state exceed a quota. */
  exceeding(id: string, after: FileHolder): Outcome | undefined {
    return this.#options.fileUse.exceeded(this.find(id), after);
  }

  /** Returns a function that undoes it. */
  write(written: WrittenRow): () => void {
    const { id } = written;
    const before = this.#written.get(id);
    const uncount = this.#options.fileUse.count(this.find(id), fileHolder(written));
    this.#written.set(id, written);
    return () => {
      uncount();
      if (before) this.#written.set(id, before);
      else this.#written.delete(id);
    };
  }

  /** Forgets a state that was looked up after a direct insert, when that is undone. */
  forget(id: string): void {
    this.#stored.delete(id);
  }
}
