// What a local copy consists of, in memory as in the storage: rows, copies and pending writes.

import type { Problem } from "../problem.ts";
import { withEtag } from "../tags.ts";
import type { Identified } from "../types.ts";
import { mergePatch } from "./merge-patch.ts";
import type { StoredRecord } from "./storage.ts";

/** Why nothing is sent and read. */
export type Failure = "offline" | "unauthorized" | undefined;

/** A resource as the server has it. */
export interface Row {
  readonly collection: string;
  readonly resource: Identified;
  readonly etag: string;
  /** Tags of the states before this one, from which writes of this client alone have led to it. */
  readonly was: readonly string[];
  /** The copies that have it, by key, and the round that has shown it; 0 when none has yet. */
  readonly in: Readonly<Record<string, number>>;
}

export interface CopyQuery {
  readonly collection: string;
  readonly where?: object;
}

/** How far a copy has been read. */
export interface CopyRecord extends CopyQuery {
  /** The position in the feed; left out at the beginning. */
  readonly since?: string;
  /** Each start from the beginning is a round, from 1. */
  readonly round: number;
  /** The last round that was complete; 0 before the first one. */
  readonly complete: number;
  readonly readAt: number;
  /** Why it cannot be read. */
  readonly problem?: ToldProblem;
}

/** A `Problem` that can be stored. */
export type ToldProblem = Pick<Problem, "status" | "kind" | "message" | "errors" | "requestId">;

export type WriteKind = "create" | "update" | "replace" | "remove";

/** One change of one resource. */
export interface PendingChange {
  readonly kind: WriteKind;
  readonly collection: string;
  readonly id: string;
  /** A draft, or a merge patch. */
  readonly body?: object;
  /** The state that it was made from, and its tag. */
  readonly base?: Identified;
  readonly seen?: string;
}

/** Changes that happen together or not at all. */
export interface Write {
  readonly id: string;
  /** The Idempotency-Key: another one after each decision. */
  readonly key: string;
  /** Milliseconds, and larger than that of each write before it. */
  readonly order: number;
  readonly changes: readonly PendingChange[];
  /** When it was first sent without an answer. */
  readonly triedAt?: number;
  /** It was sent with a token that is no longer valid, so that its key may be of no use. */
  readonly isWithOtherToken?: boolean;
  readonly refusal?: Refusal;
}

export interface Refusal {
  /** The change that was refused. */
  readonly at: number;
  readonly problem: ToldProblem;
}

type ChangedAddress = Pick<PendingChange, "collection" | "id">;

export const pathOf = ({ collection, id }: ChangedAddress): string => `${collection}/${id}`;
export const rowKey = (place: ChangedAddress): string => `row/${pathOf(place)}`;
export const writeKey = ({ id }: Pick<Write, "id">): string => `write/${id}`;
export const copyKey = ({ collection, where }: CopyQuery): string =>
  `copy/${collection}/${JSON.stringify(where) ?? ""}`;

/** The tag of a state that the server does not have yet. */
export const tagOf = ({ id }: Pick<Write, "id">): string => `"${id}"`;

export class State {
  /** By collection and id. */
  readonly #rows = new Map<string, Map<string, Row>>();
  readonly copies = new Map<string, CopyRecord>();
  writes: readonly Write[] = [];

  /** Of all records. */
  keys(): readonly string[] {
    const rows = [...this.#rows].flatMap(([collection, byId]) =>
      [...byId.keys()].map((id) => rowKey({ collection, id })),
    );
    return [...rows, ...this.copies.keys(), ...this.writes.map(writeKey)];
  }

  rows(collection: string): ReadonlyMap<string, Row> {
    return this.#rows.get(collection) ?? new Map();
  }

  row({ collection, id }: ChangedAddress): Row | undefined {
    return this.#rows.get(collection)?.get(id);
  }

  /** Returns the names of the collections that have changed. */
  apply(records: readonly StoredRecord[]): ReadonlySet<string> {
    const changed = new Set<string>();
    for (const [key, value] of records) {
      const [kind, name = "", id = ""] = key.split("/");
      if (kind === "row") this.#setRow(name, id, value as Row | undefined);
      else if (kind === "copy") set(this.copies, key, value as CopyRecord | undefined);
      else
        for (const { collection } of this.#setWrite(name, value as Write | undefined))
          changed.add(collection);
      if (kind !== "write") changed.add(name);
    }
    return changed;
  }

  #setRow(collection: string, id: string, row: Row | undefined): void {
    if (row) withEtag(row.resource, row.etag);
    const rows = this.#rows.get(collection) ?? new Map<string, Row>();
    this.#rows.set(collection, set(rows, id, row));
  }

  #setWrite(id: string, write: Write | undefined): readonly PendingChange[] {
    const others = this.writes.filter((one) => one.id !== id);
    const former = this.writes.find((one) => one.id === id);
    this.writes = write
      ? [...others, write].sort((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1))
      : others;
    return [...(former?.changes ?? []), ...(write?.changes ?? [])];
  }
}

function set<V>(map: Map<string, V>, key: string, value: V | undefined): Map<string, V> {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
  return map;
}

/** The state after a change of a write; undefined when it removes the resource. */
export function applied(
  before: Identified | undefined,
  change: PendingChange,
  write: Pick<Write, "id" | "order">,
): Identified | undefined {
  const { kind, id, body } = change;
  const state = before ?? change.base;
  if (kind === "remove") return undefined;
  const now = new Date(write.order).toISOString();
  const { createdAt = now, updatedAt = now } = (state ?? {}) as Readonly<Record<string, string>>;
  const after = kind === "update" ? mergePatch(state, body) : { id, ...body, createdAt, updatedAt };
  return withEtag(after as Identified, tagOf(write));
}
