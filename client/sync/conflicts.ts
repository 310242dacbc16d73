// Lists the refused writes, and applies what a person decides: mine, theirs, or something else.

import { draftOf } from "../states.ts";
import { etagOf } from "../tags.ts";
import type { CollectionTypes, Identified } from "../types.ts";
import { rowRecord } from "./journal.ts";
import { mergePatch } from "./merge-patch.ts";
import {
  applied,
  type PendingChange,
  pathOf,
  type Row,
  type State,
  type ToldProblem,
  type Write,
  writeKey,
} from "./state.ts";
import type { StoredRecord } from "./storage.ts";
import { newId } from "./writes.ts";

/** `collection` tells the types of its states. */
export type SyncConflict<C extends { readonly [K in keyof C]: CollectionTypes }> = {
  readonly [N in keyof C & string]: {
    readonly collection: N;
    /** The change that was refused. */
    readonly write: PendingChange;
    /** The state that the change was made from. */
    readonly base: C[N]["resource"] | undefined;
    /** The state now; undefined when there is none. */
    readonly current: C[N]["resource"] | undefined;
    readonly problem: ToldProblem;
    /** The id of the pending write. */
    readonly pending: string;
  };
}[keyof C & string];

export type AnyConflict = SyncConflict<Record<string, CollectionTypes>>;

export const conflictsOf = (state: State): readonly AnyConflict[] =>
  state.writes.flatMap(({ id, changes, refusal }) => {
    const write = changes[refusal?.at ?? 0];
    if (!refusal || !write) return [];
    const { collection, base } = write;
    const current = state.row(write)?.resource;
    return [{ collection, write, base, current, problem: refusal.problem, pending: id }];
  });

/** What is to be saved for a decision; nothing, if somebody else has decided. */
export function decide(
  state: State,
  { pending, current }: AnyConflict,
  choice: "mine" | "theirs" | object,
): readonly StoredRecord[] {
  const write = state.writes.find(({ id }) => id === pending);
  if (!write?.refusal) return [];
  if (choice === "theirs") return dropped(state, write);
  const { order, changes, refusal } = write;
  const decided = changes.map((change, at) =>
    at === refusal.at ? decidedChange(change, write, current, choice) : change,
  );
  // What waits behind it was made from the state that it was to leave. After a patch it is another state.
  const id = choice === "mine" ? write.id : newId();
  return [
    [writeKey(write), undefined],
    [writeKey({ id }), { id, order, key: newId(), changes: decided }],
  ];
}

function decidedChange(
  change: PendingChange,
  write: Write,
  current: Identified | undefined,
  choice: "mine" | object,
): PendingChange {
  const { collection, id, kind } = change;
  const patch = choice === "mine" ? undefined : (choice as object);
  if (!current) {
    if (kind === "remove" && !patch) return change;
    const mine = draftOf(applied(undefined, change, write) ?? change.base ?? {});
    const body = mergePatch(mine, patch ?? {}) as object;
    // With its base it is known as one that others can create again, too.
    return { kind: "create", collection, id, body, ...(change.base && { base: change.base }) };
  }
  const from = { base: current, seen: etagOf(current) ?? "" };
  if (patch) return { ...change, kind: "update", body: patch, ...from };
  return { ...change, kind: kind === "create" ? "replace" : kind, ...from };
}

/** A write, and those that wait behind it on the same resources. */
function dropped(state: State, first: Write): readonly StoredRecord[] {
  const paths = new Set<string>(first.changes.map(pathOf));
  const all = new Set([first]);
  for (const write of state.writes.slice(state.writes.indexOf(first)))
    if (write.changes.some((change) => paths.has(pathOf(change)))) {
      all.add(write);
      for (const change of write.changes) paths.add(pathOf(change));
    }
  const rows = [...all]
    .flatMap(({ changes }) => changes.map((change) => state.row(change)))
    .filter((row): row is Row => row !== undefined);
  return [
    ...[...all].map((write): StoredRecord => [writeKey(write), undefined]),
    ...rows.map((row) => rowRecord(state, row, all)),
  ];
}
