// What passes between the threads: changes down, verdicts back, both as flat arrays.

import type { Token } from "../../model/token.ts";
import type { Change, Expectation, Outage, Outcome } from "../store.ts";

/**
 * A flat array of strings and numbers is the cheapest message to clone: for 64 small changes half
 * the cost of the objects, for large ones a fiftieth of JSON text.
 */
type Cells = readonly (string | number)[];

/** A batch of changes; an empty one asks whether writing works at all. `close` lets go of the file. */
export type Message = Cells | "close";

export type Reply =
  | { readonly kind: "done"; readonly verdicts: Cells }
  | { readonly kind: "outage"; readonly reason: Outage["reason"]; readonly message: string }
  | { readonly kind: "bug"; readonly message: string };

/** An outcome less what the caller knows already. */
export type Verdict = readonly [kind: Outcome["kind"], revision: number, createdAt: number];

type ChangeCells = readonly [
  kind: Change["kind"],
  collection: string,
  id: string,
  at: number,
  expect: Expectation,
  content: string,
];

export function packChanges(changes: readonly Change[]): Cells {
  const cells: (string | number)[] = [];
  for (const change of changes)
    switch (change.kind) {
      case "put":
        cells.push("put", change.collection, change.id, change.at, change.expect, change.fields);
        break;
      case "remove":
        cells.push("remove", change.collection, change.id, change.at, change.expect, "");
        break;
      case "found":
        cells.push("found", change.collection, "", change.at, 0, "");
        break;
      case "keep-token":
        cells.push("keep-token", "", change.token.id, 0, 0, JSON.stringify(change.token));
        break;
      case "revoke-token":
      case "touch-token":
        cells.push(change.kind, "", change.id, change.at, 0, "");
        break;
    }
  return cells;
}

export function unpackChanges(cells: Cells): readonly Change[] {
  const changes: Change[] = [];
  for (let start = 0; start < cells.length; start += 6)
    changes.push(unpackChange(cells.slice(start, start + 6) as unknown as ChangeCells));
  return changes;
}

function unpackChange([kind, collection, id, at, expect, content]: ChangeCells): Change {
  switch (kind) {
    case "put":
      return { kind, collection, id, at, expect, fields: content };
    case "remove":
      return { kind, collection, id, at, expect: expect as Exclude<Expectation, "nothing"> };
    case "found":
      return { kind, collection, at };
    case "keep-token":
      return { kind, token: JSON.parse(content) as Token };
    case "revoke-token":
    case "touch-token":
      return { kind, id, at };
  }
}

export const packVerdicts = (verdicts: readonly Verdict[]): Cells => verdicts.flat();

export function unpackOutcomes(changes: readonly Change[], cells: Cells): readonly Outcome[] {
  const outcomes: Outcome[] = [];
  for (const change of changes) {
    const start = outcomes.length * 3;
    outcomes.push(outcome(change, cells.slice(start, start + 3) as unknown as Verdict));
  }
  return outcomes;
}

/** The caller sent the state that was written, so it is not sent back. */
function outcome(change: Change, [kind, revision, createdAt]: Verdict): Outcome {
  if (kind === "removed") return { kind, revision };
  if (kind !== "created" && kind !== "replaced") return { kind };
  if (change.kind !== "put") throw new TypeError(`a ${change.kind} cannot have been ${kind}`);
  const { id, fields, at } = change;
  return { kind, resource: { id, revision, createdAt, updatedAt: at, fields } };
}
