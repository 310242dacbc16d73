// Defines the messages between the main thread and the writer thread.

import type { Outage } from "../../model/outage.ts";
import type { Resource } from "../../model/resource.ts";
import { resourceIn, type Writable } from "../core/stored-resource.ts";
import type { EraseAnswer, EraseMessage } from "../erasure.ts";
import type { AtomicChange, Change, Expectation, Outcome, Put, ResourceChange } from "../store.ts";
import type { DatabaseOptions } from "./database.ts";
import type { DatabaseFile, FileIdentity } from "./file.ts";

/** The first message to the writer thread. It has no reply. */
export interface OpenRequest {
  readonly kind: "open";
  readonly file: DatabaseFile;
  readonly options: DatabaseOptions;
}

/**
 * A batch of changes; an empty one tests whether writes work. `repair` replaces a suspect database by a
 * verified copy, `close` closes the file.
 */
export type Message = PackedChanges | "repair" | "close" | EraseMessage;

/** The reply to a message. Replies have the order of the messages. */
export type WriterReply =
  | PackedOutcomes
  /** The database is now in a new file with this identity. */
  | { readonly kind: "repaired"; readonly identity: FileIdentity | undefined }
  | EraseAnswer
  | { readonly kind: "outage"; readonly reason: Outage["reason"]; readonly message: string }
  | { readonly kind: "bug"; readonly message: string };

/**
 * Sent without a request. `suspect`: the disk has failed, and batches are rejected until the database is
 * repaired. `error`: an error of the work in the background, for the log.
 */
export type Notice = { readonly kind: "suspect" | "error"; readonly message: string };

/**
 * A put of fields is a row of strings and numbers, which costs a quarter of an object to clone. Any other
 * change is sent as it is; those of a group are packed in the same way.
 */
export type PackedChanges = readonly (
  | string
  | number
  | Exclude<Change, AtomicChange>
  | PackedGroup
)[];
type PackedGroup = Omit<AtomicChange, "changes"> & { readonly changes: PackedChanges };

type PutRow = readonly [
  collection: string,
  id: string,
  fields: string,
  at: number,
  /** `new` stands for `nothing` with a generated id. */
  expect: Expectation | "new",
  rules: number,
  /** Empty when there is none. */
  owner: string,
  /** Empty when there is none. */
  callerToken: string,
];
const putWidth = 8;
/** The change does not name a version of the rules. */
const anyRules = -1;

export function packChanges(changes: readonly Change[]): PackedChanges {
  const cells: PackedChanges[number][] = [];
  for (const change of changes)
    if (change.kind === "all") cells.push({ ...change, changes: packChanges(change.changes) });
    else if (change.kind !== "put" || !hasFieldsOnly(change)) cells.push(change);
    else {
      const { collection, id, fields, at, isNewId, rules = anyRules, owner = "" } = change;
      const expect = isNewId ? "new" : change.expect;
      cells.push(collection, id, fields, at, expect, rules, owner, change.callerToken ?? "");
    }
  return cells;
}

const hasFieldsOnly = ({
  files,
  setOwner,
  unchanged,
  isRemovingFile,
  createsCollection,
}: Put): boolean =>
  files === undefined &&
  createsCollection === undefined &&
  setOwner === undefined &&
  unchanged === undefined &&
  isRemovingFile === undefined;

export function unpackChanges(cells: PackedChanges): readonly Change[] {
  const changes: Change[] = [];
  for (let index = 0; index < cells.length; ) {
    const cell = cells[index];
    if (typeof cell !== "object") {
      changes.push(putIn(cells.slice(index, index + putWidth) as unknown as PutRow));
      index += putWidth;
      continue;
    }
    changes.push(cell.kind === "all" ? groupIn(cell) : cell);
    index++;
  }
  return changes;
}

const groupIn = (group: PackedGroup): AtomicChange => ({
  ...group,
  changes: unpackChanges(group.changes) as readonly ResourceChange[],
});

/** Members are added one by one: copies of objects would take a tenth of the writer's time. */
function putIn([collection, id, fields, at, expect, rules, owner, callerToken]: PutRow): Put {
  const isNewId = expect === "new";
  const put: Writable<Put> = {
    kind: "put",
    collection,
    id,
    fields,
    at,
    expect: isNewId ? "nothing" : expect,
  };
  if (isNewId) put.isNewId = true;
  if (rules !== anyRules) put.rules = rules;
  if (owner !== "") put.owner = owner;
  if (callerToken !== "") put.callerToken = callerToken;
  return put;
}

/**
 * What a put has written is a row without what the sender has: the fields and the files. Of a resource that
 * was created just as the put says, which is the usual case, only the revision is sent. Any other outcome is
 * sent as it is.
 */
export type PackedOutcomes = readonly (string | number | Outcome | PackedResults)[];
interface PackedResults {
  readonly kind: "group";
  readonly outcomes: PackedOutcomes;
}

type ResultRow = readonly [
  kind: "created" | "replaced",
  revision: number,
  createdAt: number,
  updatedAt: number,
  /** Empty when there is none. */
  owner: string,
  sharesDate: number,
];
const resultWidth = 6;

export function packOutcomes(
  changes: readonly Change[],
  outcomes: readonly Outcome[],
): PackedOutcomes {
  const cells: PackedOutcomes[number][] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const change = changes[index];
    const { kind } = outcome;
    if (change?.kind === "put" && (kind === "created" || kind === "replaced")) {
      const { revision, createdAt, updatedAt, owner = "", sharesDate } = outcome.resource;
      if (kind === "created" && isAsSent(change, outcome.resource)) cells.push(revision);
      else cells.push(kind, revision, createdAt, updatedAt, owner, sharesDate ? 1 : 0);
    } else if (change?.kind === "all" && kind === "all" && !outcome.isReplay)
      cells.push({ kind: "group", outcomes: packOutcomes(change.changes, outcome.outcomes) });
    else cells.push(outcome);
  }
  return cells;
}

const isAsSent = ({ at, owner, setOwner }: Put, created: Resource): boolean =>
  at === created.createdAt &&
  at === created.updatedAt &&
  owner === created.owner &&
  setOwner === undefined &&
  !created.sharesDate;

export function unpackOutcomes(
  changes: readonly Change[],
  cells: PackedOutcomes,
): readonly Outcome[] {
  let next = 0;
  return changes.map((change) => {
    const cell = cells[next];
    if (typeof cell === "object") {
      next++;
      if (cell.kind !== "group") return cell;
      const own = change.kind === "all" ? change.changes : [];
      return { kind: "all", outcomes: unpackOutcomes(own, cell.outcomes), isReplay: false };
    }
    const put = change as Put;
    if (typeof cell === "number") {
      next++;
      const { at, owner = "" } = put;
      return writtenBy(put, ["created", cell, at, at, owner, 0]);
    }
    const row = cells.slice(next, next + resultWidth) as unknown as ResultRow;
    next += resultWidth;
    return writtenBy(put, row);
  });
}

function writtenBy(put: Put, row: ResultRow): Outcome {
  const { id, fields, files = null } = put;
  const [kind, revision, createdAt, updatedAt, sentOwner, sharesDate] = row;
  const owner = sentOwner === "" ? null : sentOwner;
  const stored = [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate] as const;
  return { kind, resource: resourceIn(stored) };
}
