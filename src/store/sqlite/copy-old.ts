// Copies all rows of a database with the former layout into the tables of the new one.

import { Outage } from "../../model/outage.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import { collectResource } from "../core/collect-resource.ts";
import { PositionTreeBuilder } from "../core/position-tree-builder.ts";
import type { ResourceRow } from "../core/rows.ts";
import { checksumOf } from "../core/stored-resource.ts";
import { noPartWrites } from "../core/writes.ts";
import type { Connection } from "./connection.ts";
import { copyOldKeys } from "./copy-old-keys.ts";
import { type OldCollection, readOldCollections } from "./old-collections.ts";
import type { SeqResourceRow } from "./resource-reader.ts";
import { RowWriter } from "./row-writer.ts";
import { TokenWriter } from "./token.ts";
import { countBytes } from "./upgrade.ts";

type OldTokenRow = readonly [
  ...(readonly [id: string, hash: string, name: string, scopes: string, createdAt: number]),
  ...(readonly [expiresAt: number | null, usedAt: number | null, revokedAt: number | null]),
  subject: string | null,
];

/** The size of a step. */
const chunkRows = 1_000;
const chunkBytes = 8 * 1024 * 1024;

/** Yields after each step how much of the data is copied, from 0 to 1. */
export function* copyOld(source: Connection, target: Connection): Generator<number> {
  const collections = readOldCollections(source);
  const rows = new RowWriter(target);
  const all = collections.reduce((sum, { head }) => sum + head.total, 1);
  let copied = 0;
  for (const collection of collections)
    for (const count of copyCollection(source, target, rows, collection)) {
      copied += count;
      yield copied / all;
    }
  target.transact(() => {
    copyStore(source, target);
    copyEpochs(source, rows);
    copyTokens(source, target);
    copyOldKeys(source, rows, collections);
    target.run(countBytes);
  });
}

/** Yields how many resources each step has copied. */
function* copyCollection(
  source: Connection,
  target: Connection,
  rows: RowWriter,
  collection: OldCollection,
): Generator<number> {
  const { part, name, definition, createdAt, head } = collection;
  const plan = indexPlanOf(definition);
  target.transact(() => {
    rows.saveCollection({
      name,
      part,
      definition,
      version: head.version,
      createdAt,
      build: undefined,
      isDefined: true,
      referrers: [],
    });
    rows.writePart(noPartWrites(part, head, true));
  });
  const tree = new PositionTreeBuilder((row) => rows.positions.write(part, row));
  let total = 0;
  for (const resources of readResources(source, part)) {
    const writes = noPartWrites(part, head, false);
    for (const written of resources) {
      const change = { id: written.id, stored: undefined, written, removal: undefined };
      // A damaged row is copied as it is, without index rows. Readers report it.
      ignoreSyntaxErrors(() => collectResource(writes, plan, change));
      tree.add(written.seq - 1);
    }
    target.transact(() => rows.writePart(writes));
    total += resources.length;
    yield resources.length;
  }
  if (total !== head.total)
    throw new Outage("damaged", `${name} has ${total} resources instead of ${head.total}`);
  target.transact(() => tree.finish(head.seq));
  yield* copyTombstones(source, target, rows, collection);
}

function* readResources(source: Connection, part: number): Generator<readonly ResourceRow[]> {
  const next = source.query<SeqResourceRow>(
    `SELECT seq, id, revision, created, updated, fields, owner, parts, shares_date, checksum
     FROM resources_${part} WHERE seq > ? ORDER BY seq LIMIT ${chunkRows}`,
  );
  for (let last = 0; ; ) {
    const { rows } = next.within(chunkBytes, (row) => row[5].length, last);
    if (rows.length === 0) return;
    yield rows.map(toResourceRow);
    last = rows.at(-1)?.[0] ?? last;
  }
}

/** Rows of older versions have no checksum; they get one. */
function toResourceRow([seq, ...row]: SeqResourceRow): ResourceRow {
  const [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate, checksum] = row;
  const times = [createdAt, updatedAt] as const;
  return {
    ...{ seq, id, revision, createdAt, updatedAt, fields, owner, files, sharesDate },
    bytes: Buffer.byteLength(fields),
    checksum: checksum ?? checksumOf([id, revision, ...times, fields, owner, files, sharesDate]),
  };
}

function ignoreSyntaxErrors(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
}

function* copyTombstones(
  source: Connection,
  target: Connection,
  rows: RowWriter,
  { part, head }: OldCollection,
): Generator<number> {
  const next = source.query<readonly [revision: number, id: string, removedAt: number]>(
    `SELECT revision, id, at FROM removed_${part} WHERE revision > ? ORDER BY revision
     LIMIT ${chunkRows}`,
  );
  for (let last = 0; ; ) {
    const found = next.all(last);
    if (found.length === 0) return;
    const writes = noPartWrites(part, head, false);
    for (const [revision, id, removedAt] of found)
      writes.tombstones.push({ id, revision, removedAt, owner: null });
    target.transact(() => rows.writePart(writes));
    last = found.at(-1)?.[0] ?? last;
    yield 0;
  }
}

function copyStore(source: Connection, target: Connection): void {
  const [batch = 0] = source.query<readonly [number]>("SELECT batch FROM ledger").one() ?? [];
  const [epoch] =
    source
      .query<readonly [number | null]>("SELECT max(epoch) FROM epochs WHERE collection = 0")
      .one() ?? [];
  target.query("UPDATE store SET epoch = ?, commits = ?, tokens = ?").run(epoch ?? 0, batch, batch);
}

function copyEpochs(source: Connection, rows: RowWriter): void {
  const epochs = source.query<readonly [part: number, epoch: number, last: number]>(
    "SELECT collection, epoch, last FROM epochs WHERE collection > 0",
  );
  for (const row of epochs.all()) rows.saveEpoch(...row);
}

/** A token without a subject is its own. */
function copyTokens(source: Connection, target: Connection): void {
  const tokens = new TokenWriter(target);
  const all = source.query<OldTokenRow>(
    "SELECT id, hash, name, scopes, created, expires, used, revoked, subject FROM tokens",
  );
  for (const row of all.all()) {
    const [id, hash, name, scopes, createdAt, expiresAt, usedAt, revokedAt, subject] = row;
    const times = { createdAt, expiresAt, usedAt, revokedAt };
    const lists = { scopes: JSON.parse(scopes), roles: [] };
    tokens.insert({ id, hash, name, subject: subject ?? id, ...lists, ...times });
  }
}
