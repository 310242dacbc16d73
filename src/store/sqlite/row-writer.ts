// Writes the rows that a batch has changed, table by table.

import { oldestStoredEpoch } from "../core/epochs.ts";
import type { IndexWrites } from "../core/index-rows.ts";
import { removePositions } from "../core/position-tree.ts";
import type { Head, KeyRow } from "../core/rows.ts";
import type { CollectionWrite, EngineWrites, PartWrites } from "../core/writes.ts";
import { BuildWriter } from "./builds.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { PositionReader, PositionWriter } from "./positions.ts";
import { ResourceWriter } from "./resource-writer.ts";
import { TokenWriter } from "./token.ts";

/** More than one, so that expired keys do not pile up; few, so that no commit has to wait. */
const deletedPerSavedKey = 2;

export class RowWriter {
  readonly positions: PositionWriter;
  readonly builds: BuildWriter;
  readonly #tokens: TokenWriter;
  readonly #resources: ResourceWriter;
  readonly #positionReader: PositionReader;
  readonly #insertHead: PreparedQuery<never>;
  readonly #updateHead: PreparedQuery<never>;
  readonly #deleteHead: PreparedQuery<never>;
  readonly #insertCollection: PreparedQuery<never>;
  readonly #updateCollection: PreparedQuery<never>;
  readonly #deleteCollection: PreparedQuery<never>;
  readonly #insertDeletedPart: PreparedQuery<never>;
  readonly #saveTombstone: PreparedQuery<never>;
  readonly #insertFormerOwner: PreparedQuery<never>;
  readonly #insertFormerState: PreparedQuery<never>;
  readonly #deleteTombstone: PreparedQuery<never>;
  readonly #insertEntry: PreparedQuery<never>;
  readonly #addEntry: PreparedQuery<never>;
  readonly #deleteEntry: PreparedQuery<never>;
  readonly #saveWord: PreparedQuery<never>;
  readonly #deleteWord: PreparedQuery<never>;
  readonly #insertFile: PreparedQuery<never>;
  readonly #deleteFile: PreparedQuery<never>;
  readonly #saveKey: PreparedQuery<never>;
  readonly #deleteExpiredKeys: PreparedQuery<never>;
  readonly #saveEpoch: PreparedQuery<never>;
  readonly #deleteOldEpochs: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.builds = new BuildWriter(connection);
    this.positions = new PositionWriter(connection);
    this.#tokens = new TokenWriter(connection);
    this.#resources = new ResourceWriter(connection);
    this.#positionReader = new PositionReader(connection);
    this.#insertHead = connection.query(
      `INSERT INTO heads (part, revision, seq, total, updated, shares_date, version, epoch,
         key_now, key_seen, bytes)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
    );
    this.#updateHead = connection.query(
      `UPDATE heads SET revision = ?2, seq = ?3, total = ?4, updated = ?5, shares_date = ?6,
         version = ?7, epoch = ?8, key_now = ?9, key_seen = ?10, bytes = ?11
       WHERE part = ?1`,
    );
    this.#deleteHead = connection.query("DELETE FROM heads WHERE part = ?");
    this.#insertCollection = connection.query(
      `INSERT INTO collections (name, part, definition, version, created, referrers)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#updateCollection = connection.query(
      "UPDATE collections SET definition = ?, version = ?, referrers = ? WHERE name = ?",
    );
    this.#deleteCollection = connection.query("DELETE FROM collections WHERE name = ?");
    this.#insertDeletedPart = connection.query("INSERT INTO deleted_parts (part) VALUES (?)");
    this.#saveTombstone = connection.query(
      "INSERT OR REPLACE INTO tombstones (part, id, revision, removed, owner) VALUES (?, ?, ?, ?, ?)",
    );
    this.#insertFormerOwner = connection.query(
      "INSERT INTO former_owners (part, revision, id, owner, changed) VALUES (?, ?, ?, ?, ?)",
    );
    this.#insertFormerState = connection.query(
      `INSERT INTO former_states (part, id, revision, since, changed, state)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#deleteTombstone = connection.query("DELETE FROM tombstones WHERE part = ? AND id = ?");
    this.#insertEntry = connection.query(
      "INSERT INTO entries (part, field, key, seq) VALUES (?, ?, ?, ?)",
    );
    this.#addEntry = connection.query(
      "INSERT OR IGNORE INTO entries (part, field, key, seq) VALUES (?, ?, ?, ?)",
    );
    this.#deleteEntry = connection.query(
      "DELETE FROM entries WHERE part = ? AND field = ? AND key = ? AND seq = ?",
    );
    this.#saveWord = connection.query(
      "INSERT OR REPLACE INTO words (part, word, rank, seq) VALUES (?, ?, ?, ?)",
    );
    this.#deleteWord = connection.query(
      "DELETE FROM words WHERE part = ? AND word = ? AND rank = ? AND seq = ?",
    );
    this.#insertFile = connection.query(
      "INSERT OR REPLACE INTO files (part, key, owner, bytes) VALUES (?, ?, ?, ?)",
    );
    this.#deleteFile = connection.query("DELETE FROM files WHERE part = ? AND key = ?");
    this.#saveKey = connection.query(
      `INSERT OR REPLACE INTO idempotency_keys (part, owner, key, fingerprint, outcomes, expires)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#deleteExpiredKeys = connection.query(
      `DELETE FROM idempotency_keys WHERE part = ?1 AND (owner, key) IN (
         SELECT owner, key FROM idempotency_keys WHERE part = ?1 AND expires <= ?2
         ORDER BY expires LIMIT ?3)`,
    );
    this.#saveEpoch = connection.query(
      "INSERT OR REPLACE INTO epochs (part, epoch, last) VALUES (?, ?, ?)",
    );
    this.#deleteOldEpochs = connection.query("DELETE FROM epochs WHERE part = ? AND epoch < ?");
  }

  write(writes: EngineWrites): void {
    for (const { name, part } of writes.deletedCollections) {
      this.#deleteCollection.run(name);
      this.#deleteHead.run(part);
      this.builds.save(part, undefined);
      this.#insertDeletedPart.run(part);
    }
    for (const collection of writes.collections) this.saveCollection(collection);
    for (const part of writes.parts) this.writePart(part);
    this.#tokens.write(writes);
  }

  saveCollection({ name, part, definition, version, createdAt, ...write }: CollectionWrite): void {
    const referrers = JSON.stringify(write.referrers);
    if (createdAt !== undefined)
      this.#insertCollection.run(name, part, definition, version, createdAt, referrers);
    else this.#updateCollection.run(definition, version, referrers, name);
    if (createdAt === undefined && write.isDefined) this.builds.save(part, write.build);
  }

  writePart(writes: PartWrites): void {
    const { part } = writes;
    this.#saveHead(writes);
    for (const seq of writes.deleted) this.#resources.delete(part, seq);
    for (const row of writes.updated) this.#resources.update(part, row);
    this.#resources.insertAll(part, writes.inserted);
    for (const id of writes.deletedTombstones) this.#deleteTombstone.run(part, id);
    for (const { id, revision, removedAt, owner } of writes.tombstones)
      this.#saveTombstone.run(part, id, revision, removedAt, owner);
    for (const { id, revision, owner, changedAt } of writes.formerOwners)
      this.#insertFormerOwner.run(part, revision, id, owner, changedAt);
    for (const { id, revision, since, changedAt, state } of writes.formerStates)
      this.#insertFormerState.run(part, id, revision, since, changedAt, state);
    this.writeIndexRows(part, writes);
    for (const key of writes.deletedFiles) this.#deleteFile.run(part, key);
    for (const { key, owner, bytes } of writes.files) this.#insertFile.run(part, key, owner, bytes);
    if (writes.removedPositions.length > 0) this.#removePositions(part, writes.removedPositions);
    if (writes.keys.length > 0) this.#saveKeys(part, writes.keys, writes.head);
    if (writes.endedEpoch) {
      this.#deleteOldEpochs.run(part, oldestStoredEpoch(writes.head.epoch));
      this.saveEpoch(part, writes.endedEpoch.epoch, writes.endedEpoch.last);
    }
  }

  /** Adds the rows of a new index. A write may have added some of them already. */
  addIndexRows(part: number, { entries, words }: IndexWrites): void {
    for (const { field, key, seq } of entries) this.#addEntry.run(part, field, key, seq);
    for (const { word, weight, seq } of words) this.#saveWord.run(part, word, -weight, seq);
  }

  writeIndexRows(part: number, writes: IndexWrites): void {
    for (const { field, key, seq } of writes.deletedEntries)
      this.#deleteEntry.run(part, field, key, seq);
    for (const { field, key, seq } of writes.entries) this.#insertEntry.run(part, field, key, seq);
    for (const { word, weight, seq } of writes.deletedWords)
      this.#deleteWord.run(part, word, -weight, seq);
    for (const { word, weight, seq } of writes.words) this.#saveWord.run(part, word, -weight, seq);
  }

  saveKey(part: number, { owner, key, fingerprint, outcomes, expiresAt }: KeyRow): void {
    this.#saveKey.run(part, owner, key, fingerprint, outcomes, expiresAt);
  }

  saveEpoch(part: number, epoch: number, last: number): void {
    this.#saveEpoch.run(part, epoch, last);
  }

  #removePositions(part: number, positions: readonly number[]): void {
    for (const row of removePositions(this.#positionReader.of(part), positions))
      this.positions.write(part, row);
  }

  #saveKeys(part: number, keys: readonly KeyRow[], { keyClock }: Head): void {
    for (const key of keys) this.saveKey(part, key);
    this.#deleteExpiredKeys.run(part, keyClock.now, keys.length * deletedPerSavedKey);
  }

  #saveHead({ part, head, isNew }: PartWrites): void {
    const query = isNew ? this.#insertHead : this.#updateHead;
    query.run(
      part,
      head.revision,
      head.seq,
      head.total,
      head.updatedAt,
      head.sharesDate,
      head.version,
      head.epoch,
      head.keyClock.now,
      head.keyClock.seen,
      head.bytes,
    );
  }
}
