// Commits a batch of changes in one transaction; each change succeeds or fails on its own.

import { Outage } from "../../model/outage.ts";
import { applyChanges, stepsOf } from "../core/apply.ts";
import { isEmpty, type Writes } from "../core/writes.ts";
import type { Change, Outcome } from "../store.ts";
import type { CommitCounterWriter } from "./commit-counter.ts";
import { type Connection, outageOf, type Query } from "./connection.ts";
import { IndexBuilder } from "./index-builder.ts";
import { RowWriter } from "./row-writer.ts";
import { StoredState } from "./state.ts";

export class BatchWriter {
  readonly #connection: Connection;
  readonly #commitCounter: CommitCounterWriter;
  readonly #begin: Query<never>;
  readonly #commit: Query<never>;
  readonly #saveCount: Query<never>;
  readonly #state: StoredState;
  readonly #rows: RowWriter;
  readonly #indexes: IndexBuilder;
  #lastCommit = 0;

  constructor(connection: Connection, commitCounter: CommitCounterWriter) {
    this.#connection = connection;
    this.#commitCounter = commitCounter;
    // Takes the write lock at once: a transaction that begins as a reader may not be able to write later.
    this.#begin = connection.query("BEGIN IMMEDIATE");
    this.#commit = connection.query("COMMIT");
    this.#saveCount = connection.query("UPDATE store SET commits = ?, tokens = ?");
    this.#state = new StoredState(connection);
    this.#rows = new RowWriter(connection);
    this.#indexes = new IndexBuilder(connection, this.#rows);
  }

  /** The number of the last commit. */
  get lastCommit(): number {
    return this.#lastCommit;
  }

  /** An empty batch only counts itself, which tests whether writes work. */
  commit(changes: readonly Change[]): readonly Outcome[] {
    this.#begin.run();
    const before = this.#state.begin();
    let isChanged = changes.length === 0;
    let areTokensChanged = false;
    const outcomes = stepsOf(changes).flatMap((step) => {
      this.#state.reset();
      const { outcomes, writes } = applyChanges(step, this.#state);
      if (isEmpty(writes)) return outcomes;
      isChanged = true;
      areTokensChanged ||= hasTokens(writes);
      return this.#write(writes) ?? outcomes;
    });
    const number = before.commits + 1;
    if (isChanged) this.#saveCount.run(number, areTokensChanged ? number : before.tokens);
    try {
      this.#commit.run();
    } catch (error) {
      throw commitError(error);
    }
    if (isChanged) {
      this.#lastCommit = number;
      this.#commitCounter.publish(number);
    }
    return outcomes;
  }

  /** Writes the rows of a step. Returns other outcomes when its definition cannot be followed. */
  #write(writes: Writes): readonly Outcome[] | undefined {
    const [collection] = writes.collections;
    if (collection === undefined || collection.plans.before === collection.plans.after) {
      this.#rows.write(writes);
      return undefined;
    }
    this.#connection.run("SAVEPOINT definition");
    this.#rows.write(writes);
    const field = this.#indexes.follow(collection);
    if (field !== undefined) this.#connection.run("ROLLBACK TO definition");
    this.#connection.run("RELEASE definition");
    return field === undefined ? undefined : [{ kind: "conflict", field }];
  }
}

const hasTokens = ({ tokens, revokedTokens, usedTokens }: Writes): boolean =>
  tokens.length + revokedTokens.length + usedTokens.length > 0;

/**
 * After an I/O error the result is unknown: the WAL can contain the whole batch although no reader sees
 * it, and a crash before the next commit would bring it back.
 */
function commitError(error: unknown): unknown {
  const outage = outageOf(error);
  if (outage?.reason !== "unavailable") return outage ?? error;
  return new Outage("unknown", outage.message, { cause: error });
}
