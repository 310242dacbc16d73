// One transaction for a batch of changes: each is judged on its own, and all are kept or none.

import { type Change, Outage } from "../store.ts";
import { AtomicWriter } from "./atomic.ts";
import { verdict } from "./collection.ts";
import { OpenCollections } from "./collections.ts";
import type { CommitCounterWriter } from "./commit-counter.ts";
import { type Connection, type Query, storageTrouble } from "./connection.ts";
import type { Unit, UnitVerdict, Verdict } from "./message-codec.ts";
import { type TokenChange, TokenWriter } from "./token.ts";

export class BatchWriter {
  readonly #bell: CommitCounterWriter;
  readonly #begin: Query<never>;
  readonly #commit: Query<never>;
  readonly #ledger: Query<readonly [batch: number, tokens: number, drops: number]>;
  readonly #saveLedger: Query<never>;
  readonly #collections: OpenCollections;
  readonly #units: AtomicWriter;
  readonly #tokens: TokenWriter;
  #isTokenTouched = false;
  #lastBatch = 0;

  constructor(connection: Connection, bell: CommitCounterWriter) {
    this.#bell = bell;
    // The lock is taken at once: a transaction that starts as a reader may find it cannot write.
    this.#begin = connection.query("BEGIN IMMEDIATE");
    this.#commit = connection.query("COMMIT");
    this.#ledger = connection.query("SELECT batch, tokens, drops FROM ledger");
    this.#saveLedger = connection.query("UPDATE ledger SET batch = ?, tokens = ?, drops = ?");
    this.#collections = new OpenCollections(connection);
    this.#units = new AtomicWriter(connection, this.#collections);
    this.#tokens = new TokenWriter(connection);
  }

  /** The number of the last batch that was committed. */
  get lastBatch(): number {
    return this.#lastBatch;
  }

  commit(changes: readonly Change[]): readonly (Verdict | UnitVerdict)[] {
    this.#begin.run();
    this.#collections.forget();
    this.#isTokenTouched = false;
    const verdicts = this.#judgeAll(changes);
    const batch = this.#settle(changes.length === 0);
    try {
      this.#commit.run();
    } catch (error) {
      throw commitTrouble(error);
    }
    if (batch !== undefined) {
      this.#lastBatch = batch;
      this.#bell.ring(batch);
    }
    return verdicts;
  }

  #judgeAll(changes: readonly Change[]): readonly (Verdict | UnitVerdict)[] {
    const verdicts: (Verdict | UnitVerdict)[] = [];
    for (const change of changes)
      if (change.kind !== "all") verdicts.push(this.#judge(change));
      else for (const each of this.#units.judge(change)) verdicts.push(each);
    return verdicts;
  }

  #judge(change: Exclude<Change, Unit>): Verdict {
    switch (change.kind) {
      case "put":
      case "remove":
        return this.#collections.judge(change);
      case "found":
        this.#collections.found(change.collection, change.at);
        return verdict("done");
      case "define":
        return this.#collections.define(change.collection, change.definition, change.at);
      case "drop":
        return this.#collections.drop(change.collection, change.isEmptyOnly);
      default:
        return this.#judgeToken(change);
    }
  }

  #judgeToken(change: TokenChange): Verdict {
    const kind = this.#tokens.judge(change);
    if (kind === "done") this.#isTokenTouched = true;
    return verdict(kind);
  }

  /** Writes down once what the batch has moved, under the next number. A probe only counts. */
  #settle(isProbe: boolean): number | undefined {
    this.#units.settle();
    const isMoved = this.#collections.areTouched || this.#isTokenTouched || isProbe;
    if (!isMoved) return undefined;
    const [batch, tokens, drops] = this.#ledger.one() ?? [0, 0, 0];
    const next = batch + 1;
    this.#collections.settle(next);
    const { isAnyDropped } = this.#collections;
    this.#saveLedger.run(next, this.#isTokenTouched ? next : tokens, isAnyDropped ? next : drops);
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
