// Holds what is at the addresses of a plan: what was stored, and what the operations so far leave.

import { readFiles, type StoredFile } from "../../model/file.ts";
import type { Resource } from "../../model/resource.ts";

/** What is at an address. */
export interface State {
  readonly stored: Resource | undefined;
  /** The state that earlier operations of the plan leave. */
  current: Resource | undefined;
  isWritten: boolean;
  /** The id under which a PUT to an inaccessible resource is tried. */
  hiddenId: string | undefined;
}

export class States {
  readonly #states = new Map<string, State>();

  get size(): number {
    return this.#states.size;
  }

  at(collection: string, id: string): State | undefined {
    return this.#states.get(`${collection}/${id}`);
  }

  /** Sets what is stored at an address, unless its fields are known already. */
  add(collection: string, id: string, stored: Resource | undefined): void {
    if (this.at(collection, id)?.stored?.fields) return;
    const state = { stored, current: stored, isWritten: false, hiddenId: undefined };
    this.#states.set(`${collection}/${id}`, state);
  }

  /** The files that no resource has any more. */
  get unusedFiles(): readonly StoredFile[] {
    const states = [...this.#states.values()];
    const written = states.filter(({ isWritten, stored }) => isWritten && stored?.files);
    if (written.length === 0) return [];
    const kept = new Set(
      states.flatMap(({ current }) => readFiles(current?.files)).map(({ key }) => key),
    );
    return written
      .flatMap(({ stored }) => readFiles(stored?.files))
      .filter(({ key }) => !kept.has(key));
  }
}

export function write(state: State, current: Resource | undefined): void {
  state.current = current;
  state.isWritten = true;
}
