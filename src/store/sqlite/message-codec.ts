// Defines the messages between the main thread and the writer thread and their cells, and encodes changes.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { Outage } from "../../model/outage.ts";
import type { Token } from "../../model/token.ts";
import type { Writable } from "../core/stored-resource.ts";
import type { EraseAnswer, EraseMessage } from "../erasure.ts";
import type {
  AtomicChange,
  Change,
  Expectation,
  Operate,
  Put,
  ReadState,
  Remove,
  ResourceChange,
} from "../store.ts";
import type { DatabaseOptions } from "./database.ts";
import type { DatabaseFile, FileIdentity } from "./file.ts";

/**
 * A flat array of strings and numbers is the cheapest message to clone: for 64 small changes half the
 * cost of objects, for large ones a fiftieth of the cost of JSON.
 */
export type Cells = readonly (string | number)[];

/** Reads rows of a fixed width from the cells, one after another. */
export class Rows<R> {
  readonly #cells: Cells;
  readonly #width: number;
  #start = 0;

  constructor(cells: Cells, width: number) {
    this.#cells = cells;
    this.#width = width;
  }

  get isAtEnd(): boolean {
    return this.#start === this.#cells.length;
  }

  /** Takes a number that stands in the place of a row, if there is one. */
  takeNumber(): number | undefined {
    const { first } = this;
    if (typeof first !== "number") return undefined;
    this.#start++;
    return first;
  }

  /** The first cell of the next row. */
  get first(): string | number | undefined {
    return this.#cells[this.#start];
  }

  take(width = this.#width): R {
    const start = this.#start;
    this.#start += width;
    return this.#cells.slice(start, this.#start) as unknown as R;
  }
}

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
export type Message = Cells | "repair" | "close" | EraseMessage;

/** The reply to a message. Replies have the order of the messages. */
export type WriterReply =
  | { readonly kind: "done"; readonly outcomes: Cells }
  /** The database is now in a new file with this identity. */
  | { readonly kind: "repaired"; readonly identity: FileIdentity | undefined }
  | EraseAnswer
  | { readonly kind: "outage"; readonly reason: Outage["reason"]; readonly message: string }
  | { readonly kind: "bug"; readonly message: string };

/** Sent without a request: the disk has failed, and batches are rejected until the database is repaired. */
export type Notice = { readonly kind: "suspect"; readonly message: string };

type DoneReply = Extract<WriterReply, { kind: "done" }>;
/** What the writer thread sends. */
export type Sent = Cells | Exclude<WriterReply, DoneReply> | Notice;

/** Outcomes are sent alone: an array inside an object costs twice as much to clone. */
export const packReply = (reply: WriterReply): Sent =>
  reply.kind === "done" ? reply.outcomes : reply;

export const unpackReply = (sent: Sent): WriterReply | Notice =>
  "kind" in sent ? sent : { kind: "done", outcomes: sent };

type ChangeCells = readonly [
  /** `remove-file` stands for a `put` with `isRemovingFile`. */
  kind: Exclude<Change["kind"], "all"> | "remove-file",
  collection: string,
  id: string,
  at: number,
  /** `new` stands for `nothing` with a generated id. */
  expect: Expectation | "new",
  content: string,
  rules: number,
  /** `owner`, or `setOwner` after a line break; empty when the change has neither. */
  owner: string,
  /** Empty when the resource has no files. Of `operate`: its other members as JSON. */
  files: string,
];
/** A put with a generated id, without owner and files: most messages consist of these. */
type NewCells = readonly [
  ...(readonly [kind: "new", collection: string, id: string]),
  ...(readonly [at: number, content: string, rules: number]),
];
const newWidth = 6;
type OperateRest = Pick<Operate, "isAdmin" | "address" | "maxBytes" | "bytes">;
/** All changes of the group are those of the request. */
const allChanges = -1;
/** The change does not name a version of the rules. */
const anyRules = -1;
/** Precedes the changes of an atomic change; its Idempotency-Key comes before, if it has one. */
type AtomicCells = readonly [kind: "all", "", "", 0, length: number, "", mode: Mode, "", ""];
/** 1 for `isTrial`, 2 for `isEach`. */
type Mode = 0 | 1 | 2;
type OnceCells = readonly [
  kind: "once",
  owner: string,
  key: string,
  at: number,
  expiresAt: number,
  fingerprint: string,
  ownChanges: number,
  "",
  "",
];
/** Precedes a change that was decided by the state of other collections; `reads` is JSON. */
type UnchangedCells = readonly [kind: "unchanged", "", "", 0, 0, reads: string, 0, "", ""];
type MessageRow = NewCells | ChangeCells | AtomicCells | OnceCells | UnchangedCells;

export function packChanges(changes: readonly Change[]): Cells {
  const cells: (string | number)[] = [];
  for (const change of changes) pack(cells, change);
  return cells;
}

function pack(cells: (string | number)[], change: Change): void {
  switch (change.kind) {
    case "put":
    case "remove":
      packOne(cells, change);
      break;
    case "operate":
      packOperate(cells, change);
      break;
    case "all":
      if (change.once) packOnce(cells, change.once);
      cells.push("all", "", "", 0, change.changes.length, "", modeOf(change), "", "");
      for (const each of change.changes) pack(cells, each);
      break;
    case "create-collection":
      cells.push(change.kind, change.collection, "", change.at, 0, "", 0, "", "");
      break;
    case "drop":
    case "define":
      cells.push(change.kind, change.collection, "", 0, 0, JSON.stringify(change), 0, "", "");
      break;
    case "create-token":
      cells.push(change.kind, "", change.token.id, 0, 0, JSON.stringify(change.token), 0, "", "");
      break;
    case "revoke-token":
    case "touch-token":
      cells.push(change.kind, "", change.id, change.at, 0, "", 0, "", "");
      break;
  }
}

function packUnchanged(
  cells: (string | number)[],
  unchanged: readonly ReadState[] | undefined,
): void {
  if (unchanged !== undefined)
    cells.push("unchanged", "", "", 0, 0, JSON.stringify(unchanged), 0, "", "");
}

function packOne(cells: (string | number)[], change: Put | Remove): void {
  packUnchanged(cells, change.unchanged);
  const { collection, id, at, rules = anyRules } = change;
  const isPut = change.kind === "put";
  const kind = isPut && change.isRemovingFile ? "remove-file" : change.kind;
  const expect = isPut && change.isNewId ? "new" : change.expect;
  const content = isPut ? change.fields : "";
  const owner = isPut ? packOwner(change) : "";
  const files = isPut ? (change.files ?? "") : "";
  if (expect === "new" && owner === "" && files === "")
    cells.push("new", collection, id, at, content, rules);
  else cells.push(kind, collection, id, at, expect, content, rules, owner, files);
}

function packOperate(cells: (string | number)[], change: Operate): void {
  const { kind, collection, id, at, expect, operations, owner = "", ...more } = change;
  const { rules = anyRules, unchanged, ...rest } = more;
  packUnchanged(cells, unchanged);
  const request: OperateRest = rest;
  cells.push(kind, collection, id, at, expect, operations, rules, owner, JSON.stringify(request));
}

function packOnce(cells: (string | number)[], once: IdempotencyKey): void {
  const { owner, key, at, expiresAt, fingerprint, ownChanges = allChanges } = once;
  cells.push("once", owner, key, at, expiresAt, fingerprint, ownChanges, "", "");
}

export function unpackChanges(cells: Cells): readonly Change[] {
  const rows = new Rows<MessageRow>(cells, 9);
  const changes: Change[] = [];
  while (!rows.isAtEnd) changes.push(unpack(rows));
  return changes;
}

function unpack(rows: Rows<MessageRow>): Change {
  if (rows.first === "new") return unpackNew(rows.take(newWidth) as NewCells);
  const row = rows.take() as Exclude<MessageRow, NewCells>;
  if (row[0] === "all") return unpackAtomic(row, rows);
  if (row[0] !== "once") return unpackOne(row, rows);
  const [, owner, key, at, expiresAt, fingerprint, own] = row;
  const ownChanges = own === allChanges ? undefined : { ownChanges: own };
  const once = { owner, key, at, expiresAt, fingerprint, ...ownChanges };
  return { ...unpackAtomic(rows.take() as AtomicCells, rows), once };
}

function unpackOne(row: ChangeCells | UnchangedCells, rows: Rows<MessageRow>): Change {
  if (row[0] !== "unchanged") return unpackChange(row);
  const unchanged = JSON.parse(row[5]) as readonly ReadState[];
  return { ...(unpack(rows) as ResourceChange), unchanged };
}

const modeOf = ({ isTrial, isEach }: AtomicChange): Mode => (isTrial ? 1 : isEach ? 2 : 0);

function unpackAtomic(
  [kind, , , , length, , mode]: AtomicCells,
  rows: Rows<MessageRow>,
): AtomicChange {
  const changes = Array.from({ length }, () => unpack(rows) as ResourceChange);
  const modes = [{}, { isTrial: true }, { isEach: true }] as const;
  return { kind, changes, ...modes[mode] };
}

function unpackNew([, collection, id, at, content, rules]: NewCells): Change {
  return unpackChange(["put", collection, id, at, "new", content, rules, "", ""]);
}

function unpackChange(cells: ChangeCells): Change {
  const [sentKind, collection, id, at, expect, content, rules, owner, files] = cells;
  const kind = sentKind === "remove-file" ? "put" : sentKind;
  const ruleVersion = rules === anyRules ? {} : { rules };
  switch (kind) {
    case "put": {
      // Members are added one by one: copies of objects would take a tenth of the writer's time.
      const expected = expect === "new" ? "nothing" : expect;
      const put: Writable<Put> = { kind, collection, id, at, expect: expected, fields: content };
      if (sentKind === "remove-file") put.isRemovingFile = true;
      if (expect === "new") put.isNewId = true;
      if (rules !== anyRules) put.rules = rules;
      if (owner !== "") Object.assign(put, unpackOwner(owner));
      if (files !== "") put.files = files;
      return put;
    }
    case "remove":
      return { kind, collection, id, at, expect: expect as Remove["expect"], ...ruleVersion };
    case "operate": {
      const request = JSON.parse(files) as OperateRest;
      const target = { collection, id, at, expect: expect as Operate["expect"], ...ruleVersion };
      const owned = owner === "" ? {} : { owner };
      return { kind, ...target, operations: content, ...request, ...owned };
    }
    case "create-collection":
      return { kind, collection, at };
    case "drop":
    case "define":
      return JSON.parse(content) as Change;
    case "create-token":
      return { kind, token: JSON.parse(content) as Token };
    case "revoke-token":
    case "touch-token":
      return { kind, id, at };
  }
}

/** No owner contains a line break. */
const packOwner = ({ owner = "", setOwner }: Put): string =>
  setOwner === undefined ? owner : `\n${setOwner ?? ""}`;

function unpackOwner(owner: string): Pick<Put, "owner" | "setOwner"> {
  if (owner === "") return {};
  return owner.startsWith("\n") ? { setOwner: owner.slice(1) || null } : { owner };
}
