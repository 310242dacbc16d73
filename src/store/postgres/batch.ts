// One transaction for a batch: looked up and locked, judged here, written and committed in two round trips.

import { setTimeout as sleep } from "node:timers/promises";
import { type Change, Outage, type Outcome } from "../store.ts";
import { type Judgement, judge } from "./apply.ts";
import { type Connection, rows, type Sql, together } from "./connection.ts";
import { beginEpoch } from "./epoch.ts";
import { eraseSomeKept, KeptEraser } from "./erase.ts";
import {
  isConflict,
  isLoss,
  isOfResources,
  isReadOnly,
  isUncertain,
  reasonOf,
  storageTrouble,
} from "./errors.ts";
import { lockAhead, lookUp } from "./lookup.ts";
import { Plans } from "./plans.ts";
import { type Done, doInSteps, isRedefinition } from "./redefine.ts";
import { isNothing, send, type Writes } from "./writes.ts";

/** Nodes that meet again and again part in the end, because each pauses for another time. */
const maxAttempts = 20;
const pauseMs = 5;

export interface WriterOptions {
  readonly open: () => Promise<Connection>;
  /** Sent with a batch that changes what nodes remember. */
  readonly tell: (sql: Sql) => Promise<unknown>;
  /** Called when a server took no writes and now one does: another may have taken over. */
  readonly onMoved: () => void;
}

/** Well under ten minutes, and rare enough to cost little. */
const eraseAfterMs = 60_000;

export class BatchWriter {
  readonly #open: () => Promise<Connection>;
  readonly #tell: (sql: Sql) => Promise<unknown>;
  readonly #onMoved: () => void;
  readonly #plans = new Plans();
  readonly #eraser: KeptEraser;
  #connection: Connection | undefined;
  /** The connection that has begun an epoch (see epoch.ts). */
  #begun: Connection | undefined;
  #wasReadOnly = false;
  /** Whether the last write failed because the server lacks resources. */
  #lacksRoom = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ open, tell, onMoved }: WriterOptions) {
    this.#open = open;
    this.#tell = tell;
    this.#onMoved = onMoved;
    this.#eraser = new KeptEraser((after) => this.#eraseSome(after), eraseAfterMs);
  }

  /** One after another: they would wait for each other's locks anyway. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const outcomes = await this.#queue(() => this.#retry(changes));
    this.#eraser.note(changes);
    return outcomes;
  }

  /** Shows whether writing works. */
  probe(): Promise<void> {
    return this.#queue(async () => {
      const connection = await this.#connected();
      if (this.#lacksRoom) await connection.ask(proveRoom);
      else await connection.ask((sql) => rows(sql`UPDATE form SET version = version`));
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
      return connection.ask((sql) => eraseSomeKept(sql, after));
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
      if (this.#wasReadOnly) this.#onMoved();
      this.#wasReadOnly = false;
      this.#lacksRoom = false;
      return result;
    } catch (error) {
      if (isReadOnly(error)) this.#leave();
      if (isOfResources(error)) this.#lacksRoom = true;
      throw storageTrouble(error) ?? error;
    }
  }

  /** The next connection may find the server that writes now. */
  #leave(): void {
    this.#wasReadOnly = true;
    this.#connection?.drop();
  }

  /** A connection that is lost before the commit has done nothing, and is worth one more attempt. */
  async #retry(changes: readonly Change[]): Promise<readonly Outcome[]> {
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#attempt(changes);
      } catch (error) {
        // The versions of a transaction that came to nothing will be given again.
        this.#plans.forget();
        const isWorthwhile = isConflict(error) || (isLoss(error) && attempt === 1);
        if (!isWorthwhile || attempt === maxAttempts) throw error;
        await sleep(Math.random() * pauseMs * attempt);
      }
  }

  async #attempt(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const connection = await this.#connected();
    if (changes.some(isRedefinition)) return this.#reform(connection, changes);
    const { outcomes, writes } = await this.#judge(connection, changes);
    if (isNothing(writes)) await connection.ask((sql) => rows(sql`ROLLBACK`));
    else await this.#write(connection, writes);
    return outcomes;
  }

  #judge(connection: Connection, changes: readonly Change[]): Promise<Judgement> {
    return orRollBack(connection, async () => {
      if (this.#begun !== connection) await connection.ask(beginWithEpoch);
      const begun = this.#begun === connection ? begin : nothing;
      const [, known] = await connection.ask((sql) =>
        together([begun(sql), lookUp(sql, changes, this.#plans)]),
      );
      return judge(changes, known);
    });
  }

  /** In as many round trips as it takes, with all locks from the start, so that no two wait for each other. */
  async #reform(connection: Connection, changes: readonly Change[]): Promise<readonly Outcome[]> {
    const { outcomes, isWritten } = await orRollBack(connection, async (): Promise<Done> => {
      await connection.ask(this.#begun === connection ? begin : beginWithEpoch);
      await connection.ask((sql) => lockAhead(sql, changes, this.#plans));
      return doInSteps(connection, changes, this.#plans);
    });
    if (isWritten) await this.#commit(connection, (sql) => [this.#tell(sql)]);
    else await connection.ask((sql) => rows(sql`ROLLBACK`));
    return outcomes;
  }

  #write(connection: Connection, writes: Writes): Promise<void> {
    return this.#commit(connection, (sql) => [
      ...send(sql, writes),
      ...(isRemembered(writes) ? [this.#tell(sql)] : []),
    ]);
  }

  /** Sent all at once. When one of the statements has failed, the commit behind it undoes the others. */
  async #commit(
    connection: Connection,
    send: (sql: Sql) => readonly Promise<unknown>[],
  ): Promise<void> {
    let answer = Promise.resolve("");
    try {
      await connection.ask((sql) => {
        const statements = send(sql);
        answer = sql`COMMIT`.then(({ command }) => command);
        return together([...statements, answer]);
      });
    } catch (error) {
      throw await afterCommit(error, answer);
    }
    if ((await answer) !== "COMMIT") throw new Error(`the commit ended as ${await answer}`);
    this.#begun = connection;
  }

  async #connected(): Promise<Connection> {
    if (!this.#connection || this.#connection.isLost) this.#connection = await this.#open();
    return this.#connection;
  }
}

/**
 * What an error means when the commit was sent behind the statement that failed. When the server has
 * answered the commit, nothing was stored. When the commit itself has failed, that depends on the error.
 */
async function afterCommit(error: unknown, answer: Promise<string>): Promise<unknown> {
  const [settled] = await Promise.allSettled([answer]);
  if (settled.status === "fulfilled" || !isUncertain(settled.reason)) return error;
  const words = `the database failed during the commit (${reasonOf(settled.reason)})`;
  return new Outage("unknown", words, { cause: settled.reason });
}

const begin = (sql: Sql): Promise<unknown> => rows(sql`BEGIN ISOLATION LEVEL READ COMMITTED`);

/**
 * Writes what needs room, and takes it back. A row that is written again may fit where it was, so it
 * does not show whether the disk is full.
 */
async function proveRoom(sql: Sql): Promise<void> {
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

async function orRollBack<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isLoss(error)) await connection.ask((sql) => rows(sql`ROLLBACK`));
    throw error;
  }
}

const isRemembered = ({ tokenTimes }: Writes): boolean =>
  tokenTimes.some(({ revokedAt }) => revokedAt !== null);
