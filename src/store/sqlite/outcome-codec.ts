// Packs the outcomes of a batch that the writer thread sends to the main thread, and unpacks them there.

import type { FieldError } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { ResourceContent } from "../../model/write/accept.ts";
import { resourceIn } from "../core/stored-resource.ts";
import type { AtomicChange, Change, Clash, Outcome } from "../store.ts";
import { type Cells, Rows } from "./message-codec.ts";

type AtomicOutcome = Extract<Outcome, { kind: "all" | "none" | "reused" | "gone" }>;

/**
 * An outcome without what the sender of the change already has. Of a resource that was created just as the
 * change says, which is the usual case, only the revision is sent. After `all` follow the outcomes of its
 * changes, after `none` that of the change that failed.
 */
type OutcomeCells = readonly [
  kind: Outcome["kind"] | "replay",
  /** The revision; of `none`, the index of the change that failed. */
  revision: number,
  createdAt: number,
  /** The owner or an empty text; the field of a conflict; the outcomes of a replay as JSON. */
  detail: string,
  updatedAt: number,
  sharesDate: number,
];

/** Follows the outcome of operations, because the sender does not know what they computed. */
type ContentCells = readonly [kind: "content", fields: string, files: string, 0, 0, 0];
type OutcomeRows = Rows<OutcomeCells | ContentCells>;

export function packOutcomes(changes: readonly Change[], outcomes: readonly Outcome[]): Cells {
  const cells: (string | number)[] = [];
  for (const [index, outcome] of outcomes.entries()) packOutcome(cells, changes[index], outcome);
  return cells;
}

function packOutcome(
  cells: (string | number)[],
  change: Change | undefined,
  outcome: Outcome,
): void {
  const { kind } = outcome;
  switch (kind) {
    case "created":
    case "replaced": {
      if (isAsSent(change, outcome)) {
        cells.push(outcome.resource.revision);
        break;
      }
      const { revision, createdAt, owner = "", updatedAt, sharesDate } = outcome.resource;
      cells.push(kind, revision, createdAt, owner, updatedAt, sharesDate ? 1 : 0);
      if (change?.kind === "operate") packContent(cells, outcome.resource);
      break;
    }
    case "removed":
      cells.push(kind, outcome.revision, 0, "", 0, 0);
      break;
    case "conflict":
      cells.push(kind, 0, 0, JSON.stringify([outcome.field, outcome.clashes]), 0, 0);
      break;
    case "invalid":
    case "inapplicable":
      cells.push(kind, 0, 0, JSON.stringify(outcome.errors), 0, 0);
      break;
    case "dangling":
    case "referenced":
    case "over-quota":
      cells.push(kind, 0, 0, JSON.stringify(outcome), 0, 0);
      break;
    case "none":
      cells.push(kind, outcome.index, 0, "", 0, 0);
      packOutcome(cells, changesIn(change)[outcome.index], outcome.outcome);
      break;
    case "all":
      if (outcome.isReplay) cells.push("replay", 0, 0, JSON.stringify(outcome.outcomes), 0, 0);
      else cells.push(kind, 0, 0, "", 0, 0);
      if (!outcome.isReplay)
        for (const [index, each] of outcome.outcomes.entries())
          packOutcome(cells, changesIn(change)[index], each);
      break;
    default:
      cells.push(kind, 0, 0, "", 0, 0);
  }
}

/** Whether a new resource has the time and the owner of its change. */
const isAsSent = (
  change: Change | undefined,
  { kind, resource }: Extract<Outcome, { kind: "created" | "replaced" }>,
): boolean =>
  kind === "created" &&
  change?.kind === "put" &&
  change.setOwner === undefined &&
  change.owner === resource.owner &&
  change.at === resource.createdAt &&
  change.at === resource.updatedAt &&
  !resource.sharesDate;

const changesIn = (change: Change | undefined): AtomicChange["changes"] =>
  change?.kind === "all" ? change.changes : [];

function packContent(cells: (string | number)[], { fields, files = "" }: Resource): void {
  cells.push("content", fields, files, 0, 0, 0);
}

export function unpackOutcomes(changes: readonly Change[], cells: Cells): readonly Outcome[] {
  const rows: OutcomeRows = new Rows(cells, 6);
  return changes.map((change) =>
    change.kind === "all" ? unpackAtomicOutcome(change, rows) : unpackOutcome(change, rows),
  );
}

function unpackAtomicOutcome({ changes }: AtomicChange, rows: OutcomeRows): AtomicOutcome {
  const [kind, index, , detail] = rows.take() as OutcomeCells;
  switch (kind) {
    case "all": {
      const outcomes = changes.map((change) => unpackOutcome(change, rows));
      return { kind, outcomes, isReplay: false };
    }
    case "none":
      return { kind, index, outcome: unpackOutcome(changes[index], rows) };
    case "replay":
      return { kind: "all", outcomes: JSON.parse(detail) as readonly Outcome[], isReplay: true };
    case "reused":
    case "gone":
      return { kind };
    default:
      throw new TypeError(`an atomic change cannot have been ${kind}`);
  }
}

function unpackConflict(detail: string): Outcome {
  const [field, clashes] = JSON.parse(detail) as readonly [string, (readonly Clash[])?];
  return { kind: "conflict", field, ...(clashes && { clashes }) };
}

/** Builds an outcome from its cells and the change that the caller sent. */
function unpackOutcome(change: Change | undefined, rows: OutcomeRows): Outcome {
  const asSent = change?.kind === "put" ? rows.takeNumber() : undefined;
  if (change?.kind === "put" && asSent !== undefined) {
    const { id, at, fields, owner = null, files = null } = change;
    return { kind: "created", resource: resourceIn([id, asSent, at, at, fields, owner, files, 0]) };
  }
  const [kind, revision, createdAt, detail, updatedAt, sharesDate] = rows.take() as OutcomeCells;
  switch (kind) {
    case "removed":
      return { kind, revision };
    case "conflict":
      return unpackConflict(detail);
    case "invalid":
    case "inapplicable":
      return { kind, errors: JSON.parse(detail) as readonly FieldError[] };
    case "dangling":
    case "referenced":
    case "over-quota":
      return JSON.parse(detail) as Outcome;
    case "created":
    case "replaced": {
      if (change?.kind !== "put" && change?.kind !== "operate")
        throw new TypeError(`a ${change?.kind} cannot have been ${kind}`);
      const { id } = change;
      const { fields, files = null } = change.kind === "put" ? change : unpackContent(rows);
      const owner = detail === "" ? null : detail;
      const stored = [
        id,
        revision,
        createdAt,
        updatedAt,
        fields,
        owner,
        files,
        sharesDate,
      ] as const;
      return { kind, resource: resourceIn(stored) };
    }
    case "all":
    case "none":
    case "replay":
      throw new TypeError(`a ${change?.kind} cannot have been ${kind}`);
    default:
      return { kind };
  }
}

function unpackContent(rows: OutcomeRows): ResourceContent {
  const [, fields, files] = rows.take() as ContentCells;
  return files === "" ? { fields } : { fields, files };
}
