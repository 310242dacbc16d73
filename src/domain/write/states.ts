// Holds what is at the addresses of a plan: what was stored, and what the operations so far leave.

import { readFiles, type StoredFile } from "../../model/file.ts";
import type { ResourceAddress } from "../../model/reference.ts";
import type { Resource } from "../../model/resource.ts";
import type { Put, Remove } from "../../store/store.ts";
import type { CollectionAccess } from "../collection-access.ts";
import type { Accepted } from "./validate.ts";

/** What is at an address. */
export interface PlannedState {
  readonly stored: Resource | undefined;
  /** The state that earlier operations of the plan leave. */
  current: Resource | undefined;
  isWritten: boolean;
  /** Whether the first write expects the stored state, so that another request can prevent it. */
  isExpected?: boolean;
  /** The id under which a PUT to a resource that the caller does not see is tried. */
  hiddenId: string | undefined;
}

export class States {
  readonly #states = new Map<string, PlannedState>();
  /** Changes of other resources that follow from deletions. They are committed with the planned ones. */
  readonly following: (Put | Remove)[] = [];

  /** What is stored at the addresses. */
  get stored(): readonly Resource[] {
    return [...this.#states.values()].flatMap(({ stored }) => stored ?? []);
  }

  get size(): number {
    return this.#states.size;
  }

  clear(): void {
    this.#states.clear();
    this.following.length = 0;
  }

  at(collection: string, id: string): PlannedState | undefined {
    return this.#states.get(`${collection}/${id}`);
  }

  /** Sets what is stored at an address, unless its fields are known already. */
  add(collection: string, id: string, stored: Resource | undefined): void {
    if (this.at(collection, id)?.stored?.fields) return;
    const state = { stored, current: stored, isWritten: false, hiddenId: undefined };
    this.#states.set(`${collection}/${id}`, state);
  }

  /** From here on nothing is stored at this address. */
  setAside(collection: string, id: string): void {
    this.#states.delete(`${collection}/${id}`);
    this.add(collection, id, undefined);
  }

  /** Adds a resource that the plan creates. */
  create(collection: string, current: Resource): void {
    const state = { stored: undefined, current, isWritten: true, hiddenId: undefined };
    this.#states.set(`${collection}/${current.id}`, state);
  }

  /** Returns the state that the plan leaves: null when it deletes the resource, undefined when it does not write it. */
  after({ collection, id }: ResourceAddress): Resource | null | undefined {
    const state = this.at(collection, id);
    return state?.isWritten ? (state.current ?? null) : undefined;
  }

  /** Returns a resource that the plan writes and that passes the test. */
  findWritten(collection: string, test: (resource: Resource) => boolean): Resource | undefined {
    for (const [address, { isWritten, current }] of this.#states)
      if (isWritten && current && address.startsWith(`${collection}/`) && test(current))
        return current;
    return undefined;
  }

  /** Adds a change that follows from a deletion. */
  follow(change: Put | Remove, stored: Resource): void {
    const { collection, id } = change;
    const current = change.kind === "put" ? stored : undefined;
    const state = { stored, current, isWritten: true, hiddenId: undefined };
    this.#states.set(`${collection}/${id}`, state);
    this.following.push(change);
  }

  /** Replaces the planned states by what was written in the end. */
  settle(collection: string, written: readonly Resource[]): void {
    for (const state of this.#states.values()) {
      state.current = state.stored;
      state.isWritten = false;
    }
    for (const resource of written) {
      const state = this.at(collection, resource.id);
      if (state) write(state, resource);
    }
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

export function write(state: PlannedState, current: Resource | undefined): void {
  state.current = current;
  state.isWritten = true;
}

/** The state has no revision yet, so no precondition of the client can name it. */
export function plannedState(
  { creator }: CollectionAccess,
  id: string,
  { setOwner, ...content }: Accepted,
  current: Resource | undefined,
  at: number,
): Resource {
  const times = { createdAt: current?.createdAt ?? at, updatedAt: at };
  const before = (current ?? creator).owner;
  const owner = setOwner === undefined ? before : (setOwner ?? undefined);
  const owned = owner === undefined ? {} : { owner };
  return { id, ...content, revision: 0, ...times, ...owned };
}
