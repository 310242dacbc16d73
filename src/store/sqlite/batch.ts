// Commits a batch of changes in one transaction; each change succeeds or fails on its own.

import { type Change, Outage } from "../store.ts";
import { AtomicWriter } from "./atomic.ts";
import { result } from "./collection.ts";
import { OpenCollections } from "./collections.ts";
import type { CommitCounterWriter } from "./commit-counter.ts";
import { type Connection, outageOf, type Query } from "./connection.ts";
import type { AtomicChange, AtomicResult, ChangeResult } from "./message-codec.ts";
import { type TokenChange, TokenWriter } from "./token.ts";

export class BatchWriter {
  readonly #commitCounter: CommitCounterWriter;
  readonly #begin: Query<never>;
  readonly #commit: Query<never>;
  readonly #ledger: Query<readonly [batch: number, tokens: number, drops: number]>;
  readonly #saveLedger: Query<never>;
  readonly #collections: OpenCollections;
  readonly #atomic: AtomicWriter;
  readonly #tokens: TokenWriter;
  #isTokenChanged = false;
  #lastBatch = 0;

  constructor(connection: Connection, commitCounter: CommitCounterWriter) {
    this.#commitCounter = commitCounter;
    // Takes the write lock at once: a transaction that begins as a reader may not be able to write later.
    this.#begin = connection.query("BEGIN IMMEDIATE");
    this.#commit = connection.query("COMMIT");
    this.#ledger = connection.query("SELECT batch, tokens, drops FROM ledger");
    this.#saveLedger = connection.query("UPDATE ledger SET batch = ?, tokens = ?, drops = ?");
    this.#collections = new OpenCollections(connection);
    this.#atomic = new AtomicWriter(connection, this.#collections);
    this.#tokens = new TokenWriter(connection);
  }

  /** The number of the last committed batch. */
  get lastBatch(): number {
    return this.#lastBatch;
  }

  commit(changes: readonly Change[]): readonly (ChangeResult | AtomicResult)[] {
    this.#begin.run();
    this.#collections.reset();
    this.#isTokenChanged = false;
    const results = this.#applyAll(changes);
    const batch = this.#finish(changes.length === 0);
    try {
      this.#commit.run();
    } catch (error) {
      throw commitError(error);
    }
    if (batch !== undefined) {
      this.#lastBatch = batch;
      this.#commitCounter.publish(batch);
    }
    return results;
  }

  #applyAll(changes: readonly Change[]): readonly (ChangeResult | AtomicResult)[] {
    const results: (ChangeResult | AtomicResult)[] = [];
    for (const change of changes)
      if (change.kind !== "all") results.push(this.#apply(change));
      else for (const each of this.#atomic.apply(change)) results.push(each);
    return results;
  }

  #apply(change: Exclude<Change, AtomicChange>): ChangeResult {
    switch (change.kind) {
      case "put":
      case "remove":
        return this.#collections.apply(change);
      case "create-collection":
        this.#collections.create(change.collection, change.at);
        return result("done");
      case "define":
        return this.#collections.define(change.collection, change.definition, change.at);
      case "drop":
        return this.#collections.drop(change.collection, change.isEmptyOnly);
      default:
        return this.#judgeToken(change);
    }
  }

  #judgeToken(change: TokenChange): ChangeResult {
    const kind = this.#tokens.apply(change);
    if (kind === "done") this.#isTokenChanged = true;
    return result(kind);
  }

  /** Saves the changes of the batch with the next batch number. A probe only increments the number. */
  #finish(isProbe: boolean): number | undefined {
    this.#atomic.finish();
    const isMoved = this.#collections.areChanged || this.#isTokenChanged || isProbe;
    if (!isMoved) return undefined;
    const [batch, tokens, drops] = this.#ledger.one() ?? [0, 0, 0];
    const next = batch + 1;
    this.#collections.finish(next);
    const { isAnyDropped } = this.#collections;
    this.#saveLedger.run(next, this.#isTokenChanged ? next : tokens, isAnyDropped ? next : drops);
    return next;
  }
}

/**
 * After an I/O error the result is unknown: the WAL can contain the whole batch although no reader sees
 * it, and a crash before the next commit would bring it back.
 */
function commitError(error: unknown): unknown {
  const trouble = outageOf(error);
  if (trouble?.reason !== "unavailable") return trouble ?? error;
  return new Outage("unknown", trouble.message, { cause: error });
}
