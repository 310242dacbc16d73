// Commits a batch in one transaction: one round trip loads and locks the rows, a second writes and commits.
// New resources take one round trip in all where the head is known (insert.ts).

import { setTimeout as sleep } from "node:timers/promises";
import { KeyedQueue } from "../../lib/keyed-queue.ts";
import { Outage } from "../../model/outage.ts";
import { applyChanges } from "../core/apply.ts";
import type { FileQuotas } from "../core/file-use.ts";
import type { StateBefore } from "../core/state.ts";
import { type EngineWrites, isEmpty } from "../core/writes.ts";
import type { Erased, Erasure } from "../erasure.ts";
import { collectionsIn } from "../group-commit.ts";
import type { Committer } from "../remote-committer.ts";
import type { Change, Outcome } from "../store.ts";
import {
  allOrFirstError,
  type Connection,
  type ConnectionOptions,
  rows,
  type Sql,
} from "./connection.ts";
import { eraseRows } from "./erase-rows.ts";
import {
  isConflict,
  isForbidden,
  isOutOfResources,
  isReadOnly,
  isRepeatable,
  outageOf,
} from "./errors.ts";
import { insertedInto, insertNew } from "./insert.ts";
import { KnownHeads } from "./known-heads.ts";
import { loadState, lockAll, type RowCache } from "./load-state.ts";
import { applyInSteps } from "./redefine.ts";
import { begin, commit, rollback, withRollback } from "./transaction.ts";
import { openWriter, type WriterConnection, WriterPool } from "./writer-pool.ts";
import { computeTrees, sendWrites } from "./writes.ts";

/** Nodes that conflict wait for a random time before each new attempt. */
const maxAttempts = 20;
const pauseMs = 5;

export interface WriterOptions {
  readonly open: (limits?: Pick<ConnectionOptions, "deadlineMs">) => Promise<Connection>;
  /** How many batches are written at the same time, each on a connection of its own. */
  readonly maxConnections: number;
  /** How long the head that was written last is expected to be the current one. */
  readonly headAgeMs: number;
  readonly fileQuotas: FileQuotas | undefined;
  /** Commits in another process. */
  readonly committer: Pick<Committer, "commit"> | undefined;
  /** Sent with a batch that changes data which nodes cache. */
  readonly notify: (sql: Sql) => Promise<unknown>;
  /** Called when writes work again after the server was read-only: another server may have taken over. */
  readonly onFailover: () => void;
}

export class BatchWriter {
  readonly #open: WriterOptions["open"];
  readonly #pool: WriterPool;
  readonly #queue: KeyedQueue;
  readonly #fileQuotas: FileQuotas | undefined;
  readonly #committer: Pick<Committer, "commit"> | undefined;
  readonly #notify: (sql: Sql) => Promise<unknown>;
  readonly #onFailover: () => void;
  readonly #rows: RowCache = new Map();
  readonly #heads: KnownHeads;
  #wasReadOnly = false;
  /** Whether a write has failed because the server is out of resources, and none was seen to have room since. */
  #isOutOfSpace = false;

  constructor({ open, maxConnections, headAgeMs, ...options }: WriterOptions) {
    const { fileQuotas, committer, notify, onFailover } = options;
    this.#open = open;
    this.#pool = new WriterPool(() => open());
    this.#queue = new KeyedQueue(maxConnections);
    this.#heads = new KnownHeads(headAgeMs);
    this.#fileQuotas = fileQuotas;
    this.#committer = committer;
    this.#notify = notify;
    this.#onFailover = onFailover;
  }

  /** Batches with the same collection run one after another: they would wait for each other's locks anyway. */
  commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#committer) return this.#commitElsewhere(this.#committer, changes);
    return this.#queue.run(collectionsIn(changes), () =>
      this.#watch(() =>
        this.#retry((isFirst) => {
          const sent = isFirst ? changes : changes.map(withLookup);
          return this.#pool.use(
            async (writer) =>
              (await insertNew(writer, sent, this.#heads)) ?? this.#attempt(writer, sent),
          );
        }),
      ),
    );
  }

  /** The outage of another process does not say whether its server has become read-only, so it may have. */
  #commitElsewhere(
    committer: Pick<Committer, "commit">,
    changes: readonly Change[],
  ): Promise<readonly Outcome[]> {
    return this.#watch(async () => {
      try {
        return await committer.commit(changes);
      } catch (error) {
        if (error instanceof Outage && error.reason === "unavailable") this.#disconnect();
        throw error;
      }
    });
  }

  /** On a connection without a deadline: what is erased can be much. A trial is rolled back. */
  erase(erasure: Erasure): Promise<Erased> {
    return this.#queue.run(collectionsIn(erasure.changes), () =>
      this.#watch(() => this.#retry(() => this.#erase(erasure))),
    );
  }

  /** Rejects when writes do not work. */
  probe(): Promise<void> {
    return this.run(async (connection) => {
      if (this.#isOutOfSpace) {
        await connection.run(checkFreeSpace);
        this.#isOutOfSpace = false;
      }
      await connection.run((sql) => rows(sql`UPDATE store SET epoch = epoch WHERE one`));
    });
  }

  /** Does other work on a connection for writes, between batches. */
  run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#queue.run([], () =>
      this.#watch(() => this.#pool.use(({ connection }) => work(connection))),
    );
  }

  async close(): Promise<void> {
    await this.#queue.idle();
    await this.#pool.close();
  }

  /** Work that began before the server was found read-only does not show that another has taken over. */
  async #watch<T>(work: () => Promise<T>): Promise<T> {
    const wasReadOnly = this.#wasReadOnly;
    try {
      const result = await work();
      if (wasReadOnly && this.#wasReadOnly) {
        this.#wasReadOnly = false;
        this.#onFailover();
      }
      return result;
    } catch (error) {
      if (isReadOnly(error)) this.#disconnect();
      const isFull = error instanceof Outage && error.reason === "full";
      if (isFull || isOutOfResources(error)) this.#isOutOfSpace = true;
      throw outageOf(error) ?? error;
    }
  }

  #disconnect(): void {
    this.#wasReadOnly = true;
    this.#pool.disconnect();
  }

  /**
   * Retries conflicts, and when the connection was lost before the commit: nothing was stored then. All
   * that were idle can be lost, so the last try opens another.
   */
  async #retry<T>(work: (isFirst: boolean) => Promise<T>): Promise<T> {
    let others = this.#pool.idle;
    for (let attempt = 1; ; attempt++)
      try {
        return await work(attempt === 1);
      } catch (error) {
        const isLost = isRepeatable(error) && others-- >= 0;
        const canRetry = isLost || (isConflict(error) && attempt < maxAttempts);
        if (!canRetry) throw error;
        await sleep(Math.random() * pauseMs * attempt);
      }
  }

  async #attempt(
    { connection, epoch }: WriterConnection,
    changes: readonly Change[],
  ): Promise<readonly Outcome[]> {
    if (changes.some(({ kind }) => kind === "define"))
      return this.#redefine(connection, epoch, changes);
    const { outcomes, writes, state, trees } = await withRollback(connection, async () => {
      const [, state] = await connection.run((sql) =>
        allOrFirstError([begin(sql), loadState(sql, changes, this.#rows, epoch, this.#fileQuotas)]),
      );
      const applied = applyChanges(changes, state);
      return { ...applied, state, trees: await computeTrees(connection, applied.writes) };
    });
    if (isEmpty(writes)) await rollback(connection);
    else
      await commit(connection, (sql) => [
        ...sendWrites(sql, writes, trees),
        ...(changesCachedData(writes) ? [this.#notify(sql)] : []),
      ]);
    this.#rememberHead(changes, state, writes);
    return outcomes;
  }

  async #erase(erasure: Erasure): Promise<Erased> {
    const { connection, epoch } = await openWriter(() => this.#open({ deadlineMs: 0 }));
    try {
      const erased = await withRollback(connection, async () => {
        await connection.run(begin);
        return eraseRows(connection, erasure, epoch);
      });
      if (erased.kind === "none" || erasure.isTrial) await rollback(connection);
      else await commit(connection, (sql) => [this.#notify(sql)]);
      return erased;
    } finally {
      await connection.close();
    }
  }

  #rememberHead(changes: readonly Change[], state: StateBefore, { parts }: EngineWrites): void {
    const name = insertedInto(changes);
    const row = name === undefined ? undefined : this.#rows.get(name);
    const before = row && state.collection(row.name)?.head;
    const [written] = parts;
    if (before && written) this.#heads.set(row, before, written.head);
  }

  /** Uses as many round trips as needed, but takes all locks first, so that there are no deadlocks. */
  async #redefine(
    connection: Connection,
    epoch: number,
    changes: readonly Change[],
  ): Promise<readonly Outcome[]> {
    const { outcomes, isWritten } = await withRollback(connection, async () => {
      await connection.run(begin);
      await connection.run((sql) => lockAll(sql, changes, this.#fileQuotas));
      return applyInSteps(connection, changes, epoch, this.#fileQuotas);
    });
    if (isWritten) await commit(connection, (sql) => [this.#notify(sql)]);
    else await rollback(connection);
    return outcomes;
  }
}

/**
 * Writes data that needs new disk space, and rolls it back. Updating a row can reuse its space, so that
 * would not show whether the disk is full. A user who may create no table cannot look.
 */
async function checkFreeSpace(sql: Sql): Promise<void> {
  await begin(sql);
  try {
    await rows(sql`
      CREATE TABLE room AS SELECT repeat(md5(n::text), 32) FROM generate_series(1, 1000) AS n`);
  } catch (error) {
    if (!isForbidden(error)) throw error;
  } finally {
    await rows(sql`ROLLBACK`);
  }
}

/** The conflict may be an id that was thought to be new: then each id is looked up. */
function withLookup(change: Change): Change {
  if (change.kind === "all")
    return { ...change, changes: change.changes.map((each) => withLookup(each) as typeof each) };
  if (change.kind !== "put") return change;
  const { isNewId: _, ...put } = change;
  return put;
}

const changesCachedData = ({ revokedTokens, deletedCollections }: EngineWrites): boolean =>
  revokedTokens.length + deletedCollections.length > 0;
