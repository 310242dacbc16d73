// Loads rows of another store into parts that nobody sees, and publishes them in one transaction.

import { noPartWrites, noWrites } from "../core/writes.ts";
import { type LoadedRows, PartLoader } from "../transfer/part-loader.ts";
import { correctReferrers, replacedBy } from "../transfer/publication.ts";
import type { Loader, PartLoad, Publication, SourceCollection } from "../transfer/transfer.ts";
import { CollectionRows } from "./collections.ts";
import type { Connection } from "./connection.ts";
import { RowWriter } from "./row-writer.ts";
import { TokenWriter } from "./token.ts";

/** The caller owns the database, and no other process writes to it. Closes the connection. */
export class SqliteLoader implements Loader {
  readonly #connection: Connection;
  readonly #rows: RowWriter;
  readonly #loads: PartLoader[] = [];

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#rows = new RowWriter(connection);
  }

  /** The part counts as deleted until it is published, so that the next start deletes its rows. */
  async begin(collection: SourceCollection): Promise<PartLoad> {
    const load = new PartLoader(collection);
    this.#connection
      .query("INSERT OR IGNORE INTO deleted_parts (part) VALUES (?)")
      .run(collection.part);
    return {
      add: async (table, rows) => this.#write(collection.part, load.add(table, rows)),
      finish: async () => {
        const writes = noPartWrites(collection.part, collection.head, false);
        this.#write(collection.part, { writes, epochs: [], tree: load.finish() });
        this.#loads.push(load);
      },
    };
  }

  async publish(publication: Publication): Promise<void> {
    this.#connection.transact(() => this.#publish(publication));
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #write(part: number, { writes, tree, epochs }: LoadedRows): void {
    this.#connection.transact(() => {
      this.#rows.writePart(writes);
      for (const row of tree) this.#rows.positions.write(part, row);
      for (const [epoch, last] of epochs) this.#rows.saveEpoch(part, epoch, last);
    });
  }

  #publish(publication: Publication): void {
    const collections = new CollectionRows(this.#connection);
    const loaded = this.#loads.map(({ collection }) => collection);
    const deletedCollections = replacedBy(collections.all(), loaded, publication);
    this.#rows.write({ ...noWrites, deletedCollections });
    for (const load of this.#loads) this.#publishPart(load);
    if (publication.whole) writeWhole(this.#connection, publication.whole);
    else this.#correctReferrers(collections);
    const epoch = Math.max(0, ...loaded.map(({ head }) => head.epoch));
    this.#run("UPDATE store SET epoch = max(epoch, ?), commits = commits + 1", epoch);
    this.#run("UPDATE store SET tokens = commits");
  }

  #publishPart({ collection, build }: PartLoader): void {
    insertCollection(this.#connection, this.#rows, { ...collection, build });
    this.#run("DELETE FROM deleted_parts WHERE part = ?", collection.part);
  }

  #correctReferrers(collections: CollectionRows): void {
    for (const [collection, referrers] of correctReferrers(collections.all())) {
      const version = collection.version + 1;
      const unchanged = { createdAt: undefined, build: undefined, isDefined: false };
      this.#rows.saveCollection({ ...collection, ...unchanged, version, referrers });
      this.#run("UPDATE heads SET version = ? WHERE part = ?", version, collection.part);
    }
  }

  #run(sql: string, ...values: readonly (string | number)[]): void {
    this.#connection.query(sql).run(...values);
  }
}

/** Writes all rows of a collection that are not in a table of its part. */
export function insertCollection(
  connection: Connection,
  rows: RowWriter,
  collection: SourceCollection,
): void {
  const { part, head, purged, build } = collection;
  rows.saveCollection({ ...collection, build: undefined, isDefined: true });
  rows.writePart(noPartWrites(part, head, true));
  rows.builds.save(part, build);
  connection.query("UPDATE heads SET purged = ? WHERE part = ?").run(purged, part);
}

/** Replaces the tokens and the identity of the store. */
export function writeWhole(
  connection: Connection,
  { store, tokens }: NonNullable<Publication["whole"]>,
): void {
  connection.run("DELETE FROM tokens; DELETE FROM token_uses");
  const writer = new TokenWriter(connection);
  for (const token of tokens) writer.insert(token);
  connection.query("UPDATE store SET id = ?, epoch = max(epoch, ?)").run(store.id, store.epoch);
}
