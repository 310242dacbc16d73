// Commits a batch in one transaction: one round trip loads and locks the rows, a second writes and commits.

import { setTimeout as sleep } from "node:timers/promises";
import { type Change, Outage, type Outcome } from "../store.ts";
import { type AppliedChanges, applyChanges } from "./apply.ts";
import { allOrFirstError, type Connection, rows, type Sql } from "./connection.ts";
import { beginEpoch } from "./epoch.ts";
import { eraseSomeOutcomes, OutcomeEraser } from "./erase.ts";
import {
  isConflict,
  isConnectionLost,
  isOutOfResources,
  isReadOnly,
  isUncertain,
  messageOf,
  outageOf,
} from "./errors.ts";
import { loadBatch, lockAll } from "./lookup.ts";
import { Plans } from "./plans.ts";
import { applyInSteps, isRedefinition, type StepResult } from "./redefine.ts";
import { isEmpty, send, type Writes } from "./writes.ts";

/** Nodes that conflict wait for a random time before each new attempt. */
const maxAttempts = 20;
const pauseMs = 5;

export interface WriterOptions {
  readonly open: () => Promise<Connection>;
  /** Sent with a batch that changes data which nodes cache. */
  readonly notify: (sql: Sql) => Promise<unknown>;
  /** Called when writes work again after the server was read-only: another server may have taken over. */
  readonly onFailover: () => void;
}

/** Deleted content is erased within ten minutes; this is rare enough to cost little. */
const eraseAfterMs = 60_000;

export class BatchWriter {
  readonly #open: () => Promise<Connection>;
  readonly #notify: (sql: Sql) => Promise<unknown>;
  readonly #onFailover: () => void;
  readonly #plans = new Plans();
  readonly #eraser: OutcomeEraser;
  #connection: Connection | undefined;
  /** The connection that began the current epoch (see epoch.ts). */
  #epochConnection: Connection | undefined;
  #wasReadOnly = false;
  /** Whether the last write failed because the server is out of resources, such as disk space. */
  #isOutOfSpace = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ open, notify, onFailover }: WriterOptions) {
    this.#open = open;
    this.#notify = notify;
    this.#onFailover = onFailover;
    this.#eraser = new OutcomeEraser((after) => this.#eraseSome(after), eraseAfterMs);
  }

  /** Runs batches one after another: they would wait for each other's locks anyway. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const outcomes = await this.#queue(() => this.#retry(changes));
    this.#eraser.onCommit(changes);
    return outcomes;
  }

  /** Rejects when writes do not work. */
  probe(): Promise<void> {
    return this.#queue(async () => {
      const connection = await this.#connected();
      if (this.#isOutOfSpace) await connection.run(checkFreeSpace);
      else await connection.run((sql) => rows(sql`UPDATE form SET version = version`));
    });
  }

  async close(): Promise<void> {
    this.#eraser.close();
    await this.#last;
    await this.#connection?.close();
  }

  #eraseSome(after: string): Promise<string | undefined> {
    return this.#queue(async () => {
      const connection = await this.#connected();
      return connection.run((sql) => eraseSomeOutcomes(sql, after));
    });
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#watch(work));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      if (this.#wasReadOnly) this.#onFailover();
      this.#wasReadOnly = false;
      this.#isOutOfSpace = false;
      return result;
    } catch (error) {
      if (isReadOnly(error)) this.#disconnect();
      if (isOutOfResources(error)) this.#isOutOfSpace = true;
      throw outageOf(error) ?? error;
    }
  }

  /** The next connection may reach the new primary server. */
  #disconnect(): void {
    this.#wasReadOnly = true;
    this.#connection?.destroy();
  }

  /** Retries conflicts, and once when the connection was lost before the commit: nothing was stored then. */
  async #retry(changes: readonly Change[]): Promise<readonly Outcome[]> {
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#attempt(changes);
      } catch (error) {
        // A transaction that was rolled back may have cached plans under versions that will be used again.
        this.#plans.clear();
        const canRetry = isConflict(error) || (isConnectionLost(error) && attempt === 1);
        if (!canRetry || attempt === maxAttempts) throw error;
        await sleep(Math.random() * pauseMs * attempt);
      }
  }

  async #attempt(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const connection = await this.#connected();
    if (changes.some(isRedefinition)) return this.#redefine(connection, changes);
    const { outcomes, writes } = await this.#loadAndApply(connection, changes);
    if (isEmpty(writes)) await connection.run((sql) => rows(sql`ROLLBACK`));
    else await this.#write(connection, writes);
    return outcomes;
  }

  #loadAndApply(connection: Connection, changes: readonly Change[]): Promise<AppliedChanges> {
    return withRollback(connection, async () => {
      if (this.#epochConnection !== connection) await connection.run(beginWithEpoch);
      const beginIfNeeded = this.#epochConnection === connection ? begin : nothing;
      const [, loaded] = await connection.run((sql) =>
        allOrFirstError([beginIfNeeded(sql), loadBatch(sql, changes, this.#plans)]),
      );
      return applyChanges(changes, loaded);
    });
  }

  /** Uses as many round trips as needed, but takes all locks first, so that there are no deadlocks. */
  async #redefine(connection: Connection, changes: readonly Change[]): Promise<readonly Outcome[]> {
    const { outcomes, isWritten } = await withRollback(
      connection,
      async (): Promise<StepResult> => {
        await connection.run(this.#epochConnection === connection ? begin : beginWithEpoch);
        await connection.run((sql) => lockAll(sql, changes, this.#plans));
        return applyInSteps(connection, changes, this.#plans);
      },
    );
    if (isWritten) await this.#commit(connection, (sql) => [this.#notify(sql)]);
    else await connection.run((sql) => rows(sql`ROLLBACK`));
    return outcomes;
  }

  #write(connection: Connection, writes: Writes): Promise<void> {
    return this.#commit(connection, (sql) => [
      ...send(sql, writes),
      ...(changesCachedData(writes) ? [this.#notify(sql)] : []),
    ]);
  }

  /** Sends the statements and COMMIT together. When a statement fails, the COMMIT rolls back. */
  async #commit(
    connection: Connection,
    send: (sql: Sql) => readonly Promise<unknown>[],
  ): Promise<void> {
    let answer = Promise.resolve("");
    try {
      await connection.run((sql) => {
        const statements = send(sql);
        answer = sql`COMMIT`.then(({ command }) => command);
        return allOrFirstError([...statements, answer]);
      });
    } catch (error) {
      throw await commitError(error, answer);
    }
    if ((await answer) !== "COMMIT") throw new Error(`the commit ended as ${await answer}`);
    this.#epochConnection = connection;
  }

  async #connected(): Promise<Connection> {
    if (!this.#connection || this.#connection.isLost) this.#connection = await this.#open();
    return this.#connection;
  }
}

/**
 * Returns the error to throw. When the server has answered the COMMIT after a failed statement, nothing
 * was stored. When the COMMIT itself failed, the error decides whether the result is unknown.
 */
async function commitError(error: unknown, answer: Promise<string>): Promise<unknown> {
  const [settled] = await Promise.allSettled([answer]);
  if (settled.status === "fulfilled" || !isUncertain(settled.reason)) return error;
  const message = `the database failed during the commit (${messageOf(settled.reason)})`;
  return new Outage("unknown", message, { cause: settled.reason });
}

const begin = (sql: Sql): Promise<unknown> => rows(sql`BEGIN ISOLATION LEVEL READ COMMITTED`);

/**
 * Writes data that needs new disk space, and rolls it back. Updating a row can reuse its space, so that
 * would not show whether the disk is full.
 */
async function checkFreeSpace(sql: Sql): Promise<void> {
  await begin(sql);
  try {
    await rows(sql`
      CREATE TABLE room AS SELECT repeat(md5(n::text), 32) FROM generate_series(1, 1000) AS n`);
  } finally {
    await rows(sql`ROLLBACK`);
  }
}

const nothing = (): Promise<unknown> => Promise.resolve();

async function beginWithEpoch(sql: Sql): Promise<void> {
  await begin(sql);
  await beginEpoch(sql);
}

async function withRollback<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isConnectionLost(error)) await connection.run((sql) => rows(sql`ROLLBACK`));
    throw error;
  }
}

const changesCachedData = ({ tokenTimes }: Writes): boolean =>
  tokenTimes.some(({ revokedAt }) => revokedAt !== null);
