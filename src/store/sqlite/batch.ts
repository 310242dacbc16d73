// One transaction for a batch of changes: each is judged on its own, and all are kept or none.

import { type Change, Outage } from "../store.ts";
import type { BellRope } from "./bell.ts";
import { CollectionTables, OpenCollection, verdict } from "./collection.ts";
import { type Connection, type Query, storageTrouble } from "./connection.ts";
import { createCollectionTables } from "./schema.ts";
import { type TokenChange, TokenWriter } from "./token.ts";
import type { Verdict } from "./wire.ts";

type CollectionRow = readonly [
  key: number,
  revision: number,
  seq: number,
  total: number,
  updated: number,
];

/** Statements are kept prepared for this many collections: memory must have an end. */
const maxPreparedCollections = 1_000;

export class BatchWriter {
  readonly #connection: Connection;
  readonly #bell: BellRope;
  readonly #begin: Query<never>;
  readonly #commit: Query<never>;
  readonly #ledger: Query<readonly [batch: number, tokens: number]>;
  readonly #saveLedger: Query<never>;
  readonly #collection: Query<CollectionRow>;
  readonly #insertCollection: Query<readonly [key: number]>;
  readonly #saveCollection: Query<never>;
  readonly #tokens: TokenWriter;
  readonly #tables = new Map<number, CollectionTables>();
  /** The collections of the batch under way. */
  readonly #open = new Map<string, OpenCollection>();
  #isTokenTouched = false;

  constructor(connection: Connection, bell: BellRope) {
    this.#connection = connection;
    this.#bell = bell;
    // The lock is taken at once: a transaction that starts as a reader may find it cannot write.
    this.#begin = connection.query("BEGIN IMMEDIATE");
    this.#commit = connection.query("COMMIT");
    this.#ledger = connection.query("SELECT batch, tokens FROM ledger");
    this.#saveLedger = connection.query("UPDATE ledger SET batch = ?, tokens = ?");
    this.#collection = connection.query(
      "SELECT key, revision, seq, total, updated FROM collections WHERE name = ?",
    );
    this.#insertCollection = connection.query(
      `INSERT INTO collections (name, revision, seq, total, created, updated, batch)
       VALUES (?, 0, 0, 0, ?, ?, 0) RETURNING key`,
    );
    this.#saveCollection = connection.query(
      `UPDATE collections SET revision = ?, seq = ?, total = ?, updated = ?, batch = ?
       WHERE key = ?`,
    );
    this.#tokens = new TokenWriter(connection);
  }

  commit(changes: readonly Change[]): readonly Verdict[] {
    this.#begin.run();
    this.#open.clear();
    this.#isTokenTouched = false;
    const verdicts = changes.map((change) => this.#judge(change));
    const touched = [...this.#open.values()].filter((collection) => collection.isTouched);
    const isProbe = changes.length === 0;
    const isMoved = touched.length > 0 || this.#isTokenTouched || isProbe;
    const batch = isMoved ? this.#settle(touched) : undefined;
    try {
      this.#commit.run();
    } catch (error) {
      throw commitTrouble(error);
    }
    if (batch !== undefined) this.#bell.ring(batch);
    return verdicts;
  }

  #judge(change: Change): Verdict {
    switch (change.kind) {
      case "put":
        return this.#opened(change.collection)?.put(change) ?? verdict("missing");
      case "remove":
        return this.#opened(change.collection)?.remove(change) ?? verdict("missing");
      case "found":
        if (!this.#opened(change.collection)) this.#found(change.collection, change.at);
        return verdict("done");
      default:
        return this.#judgeToken(change);
    }
  }

  #judgeToken(change: TokenChange): Verdict {
    const kind = this.#tokens.judge(change);
    if (kind === "done") this.#isTokenTouched = true;
    return verdict(kind);
  }

  #opened(name: string): OpenCollection | undefined {
    const opened = this.#open.get(name);
    if (opened) return opened;
    const row = this.#collection.one(name);
    if (!row) return undefined;
    const [key, revision, seq, total, updated] = row;
    const counters = { revision, seq, total, updated };
    const collection = new OpenCollection(key, counters, this.#tablesOf(key));
    this.#open.set(name, collection);
    return collection;
  }

  #found(name: string, at: number): void {
    const row = this.#insertCollection.one(name, at, at);
    if (!row) throw new Error(`collection ${name} was not inserted`);
    createCollectionTables(this.#connection, row[0]);
    this.#opened(name)?.touch(at);
  }

  #tablesOf(key: number): CollectionTables {
    const known = this.#tables.get(key);
    if (known) return known;
    if (this.#tables.size === maxPreparedCollections) this.#tables.clear();
    const tables = new CollectionTables(this.#connection, key);
    this.#tables.set(key, tables);
    return tables;
  }

  /** Writes down once what the whole batch has moved, under the next batch number. */
  #settle(touched: readonly OpenCollection[]): number {
    const [batch, tokens] = this.#ledger.one() ?? [0, 0];
    const next = batch + 1;
    for (const collection of touched) {
      collection.settle();
      const { revision, seq, total, updated } = collection.counters;
      this.#saveCollection.run(revision, seq, total, updated, next, collection.key);
    }
    this.#saveLedger.run(next, this.#isTokenTouched ? next : tokens);
    return next;
  }
}

/**
 * An I/O error here leaves it open: the log may hold the whole batch, though nobody sees it, and
 * a crash before the next commit would bring it back.
 */
function commitTrouble(error: unknown): unknown {
  const trouble = storageTrouble(error);
  if (trouble?.reason !== "unavailable") return trouble ?? error;
  return new Outage("unknown", trouble.message, { cause: error });
}
