// Commits a batch of changes in one transaction; each change succeeds or fails on its own.

import { Outage } from "../../model/outage.ts";
import { applyChanges, undoneOutcomes, unitsOf } from "../core/apply.ts";
import type { FileQuotas } from "../core/file-use.ts";
import { failureText, isFailed, withoutFailed } from "../core/index-build.ts";
import { ErasedTraces, erasedOf, withoutTraces } from "../core/traces.ts";
import { type EngineWrites, isEmpty } from "../core/writes.ts";
import type { Erased, Erasure } from "../erasure.ts";
import type { Change, Outcome } from "../store.ts";
import { BuildRunner } from "./build-runner.ts";
import type { CommitCounterWriter } from "./commit-counter.ts";
import { type Connection, outageOf, type PreparedQuery } from "./connection.ts";
import { RowWriter } from "./row-writer.ts";
import { StoredState } from "./state.ts";
import { TraceEraser } from "./trace-eraser.ts";

export class BatchWriter {
  readonly #connection: Connection;
  readonly #commitCounter: CommitCounterWriter;
  readonly #begin: PreparedQuery<never>;
  readonly #commit: PreparedQuery<never>;
  readonly #saveCount: PreparedQuery<never>;
  readonly #state: StoredState;
  readonly #rows: RowWriter;
  readonly #builds: BuildRunner;
  readonly #traces: TraceEraser;
  readonly #report: (error: string) => void;
  #lastCommit = 0;

  constructor(
    connection: Connection,
    commitCounter: CommitCounterWriter,
    fileQuotas: FileQuotas | undefined,
    report: (error: string) => void,
  ) {
    this.#report = report;
    this.#connection = connection;
    this.#commitCounter = commitCounter;
    // Takes the write lock at once: a transaction that begins as a reader may not be able to write later.
    this.#begin = connection.query("BEGIN IMMEDIATE");
    this.#commit = connection.query("COMMIT");
    this.#saveCount = connection.query("UPDATE store SET commits = ?, tokens = ?");
    this.#state = new StoredState(connection, fileQuotas);
    this.#rows = new RowWriter(connection);
    this.#builds = new BuildRunner(connection, this.#rows);
    this.#traces = new TraceEraser(connection);
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
    // What an earlier writer could not publish is published with the first commit.
    let isCatalogChanged = isChanged || this.#lastCommit === 0;
    const applyStep = (step: readonly Change[]): readonly Outcome[] => {
      this.#state.reset();
      const { outcomes, writes } = applyChanges(step, this.#state);
      this.#state.directInsert.flush();
      if (isEmpty(writes)) return outcomes;
      isChanged = true;
      areTokensChanged ||= hasTokens(writes);
      isCatalogChanged ||= hasCatalog(writes);
      return this.#write(writes) ?? outcomes;
    };
    const outcomes = unitsOf(changes).flatMap((unit) =>
      unit.length === 1 ? unit.flatMap(applyStep) : this.#together(unit, applyStep),
    );
    const number = before.commits + 1;
    if (isChanged) this.#saveCount.run(number, areTokensChanged ? number : before.tokens);
    this.#finish(isChanged ? number : undefined, isCatalogChanged);
    return outcomes;
  }

  /** A trial is undone, except for the epoch, which begins once. */
  erase(erasure: Erasure): Erased {
    this.#begin.run();
    const before = this.#state.begin();
    this.#state.writerEpoch();
    this.#connection.run("SAVEPOINT erasure");
    const erased = this.#erase(erasure);
    const isDone = erased.kind === "erased" && !erasure.isTrial;
    if (!isDone) this.#connection.run("ROLLBACK TO erasure");
    this.#connection.run("RELEASE erasure");
    const number = before.commits + 1;
    if (isDone) this.#saveCount.run(number, erased.tokens > 0 ? number : before.tokens);
    this.#finish(isDone ? number : undefined, true);
    return erased;
  }

  /** Whether index rows still have to follow a definition. */
  get hasBuild(): boolean {
    return this.#builds.next() !== undefined;
  }

  /**
   * Lets the index rows of one part follow its definition a bit further, in a transaction of its own.
   * Returns whether more is to do. The definition loses the unique indexes in which values clash.
   */
  build(): boolean {
    const next = this.#builds.next();
    if (next === undefined) return false;
    const { name, build } = next;
    if (isFailed(build)) {
      const definition = withoutFailed(next.definition, build);
      this.commit([{ kind: "define", collection: name, definition, at: Date.now() }]);
      this.#report(failureText(name, build));
      return true;
    }
    const start = performance.now();
    const isNewPlan = this.#connection.withoutSync(() =>
      this.#connection.transact(() => this.#builds.step(next)),
    );
    // Synced, and seen by readers.
    if (isNewPlan) this.commit([]);
    this.#builds.measured(performance.now() - start);
    return true;
  }

  /** Applies all steps or none. The epoch begins once, so it is not undone. */
  #together(
    steps: readonly (readonly Change[])[],
    apply: (step: readonly Change[]) => readonly Outcome[],
  ): readonly Outcome[] {
    this.#state.writerEpoch();
    this.#connection.run("SAVEPOINT together");
    const outcomes = steps.flatMap(apply);
    const undone = undoneOutcomes(outcomes);
    if (undone) this.#connection.run("ROLLBACK TO together");
    this.#connection.run("RELEASE together");
    return undone ?? outcomes;
  }

  #erase(erasure: Erasure): Erased {
    this.#state.reset();
    const { changes, subject } = erasure;
    const applied = applyChanges([{ kind: "all", changes }], this.#state);
    this.#state.directInsert.flush();
    const [outcome] = applied.outcomes;
    if (outcome?.kind === "none") return outcome;
    const writes = withoutTraces(applied.writes);
    this.#rows.write(writes);
    const tokenIds = subject === undefined ? [] : this.#traces.deleteTokens(subject);
    const collections = this.#traces.erase(new ErasedTraces(erasure, tokenIds), writes);
    return erasedOf(collections, tokenIds.length);
  }

  /** Commits the transaction, and tells the readers its number if it has one. */
  #finish(number: number | undefined, isCatalogChanged: boolean): void {
    try {
      this.#commit.run();
    } catch (error) {
      throw commitError(error);
    }
    if (number === undefined) return;
    this.#lastCommit = number;
    this.#commitCounter.publish(number, isCatalogChanged);
  }

  /** Writes the rows of a step. Returns other outcomes when its definition cannot be followed. */
  #write(writes: EngineWrites): readonly Outcome[] | undefined {
    const collection = writes.collections.find(({ isDefined }) => isDefined);
    if (collection?.build === undefined) {
      this.#rows.write(writes);
      return undefined;
    }
    this.#connection.run("SAVEPOINT definition");
    this.#rows.write(writes);
    const clashes = this.#builds.begin(collection.part);
    if (clashes) this.#connection.run("ROLLBACK TO definition");
    this.#connection.run("RELEASE definition");
    return clashes && [{ kind: "conflict", field: clashes[0]?.index ?? "", clashes }];
  }
}

const hasCatalog = (writes: EngineWrites): boolean =>
  hasTokens(writes) || writes.collections.length + writes.deletedCollections.length > 0;

const hasTokens = ({ tokens, removedTokens, revokedTokens, usedTokens }: EngineWrites): boolean =>
  tokens.length + removedTokens.length + revokedTokens.length + usedTokens.length > 0;

/**
 * After an I/O error the result is unknown: the WAL can contain the whole batch although no reader sees
 * it, and a crash before the next commit would bring it back.
 */
function commitError(error: unknown): unknown {
  const outage = outageOf(error);
  if (outage?.reason !== "unavailable") return outage ?? error;
  return new Outage("unknown", outage.message, { cause: error });
}
