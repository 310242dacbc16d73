// Builds indexes in the background: one node takes the steps, and another continues when it stops.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  failureText,
  type IndexBuild,
  isFailed,
  isNewPlan,
  phaseOf,
  rowsOf,
  withoutFailed,
} from "../core/index-build.ts";
import { StepSize } from "../core/step-size.ts";
import type { Change, Outcome } from "../store.ts";
import { allOrFirstError, type Connection, rows, type Sql } from "./connection.ts";
import type { RunWriter } from "./deleted-parts.ts";
import { rebuildStep } from "./rebuild.ts";
import { saveBuild } from "./save-build.ts";

/** How often a node looks for builds of another one that has stopped. */
export const checkMs = 3_000;

/**
 * A node that takes no step for so long has stopped. The builder is in the state of the build, not in a lease
 * (background/leases.ts): each step locks and writes that row anyway, and only the database's clock counts.
 */
const lostAfterMs = 5_000;

/**
 * Only changes in the same collection wait for a step. Its round trips and its commit alone can take 10 ms,
 * so that shorter steps would have few rows.
 */
const stepTimes = { targetMs: 40, longestMs: 60 };

/** A pause follows each step, a part of its time. Without it the next step can take the head from a write that waits. */
const pauseShare = 0.25;

interface RunningBuild {
  readonly part: number;
  readonly name: string;
  readonly definition: string;
  readonly version: number;
  readonly build: IndexBuild;
  /** The time of the database. */
  readonly now: number;
}

export interface BuilderOptions {
  readonly run: RunWriter;
  readonly commit: (changes: readonly Change[]) => Promise<readonly Outcome[]>;
  /** Sent with a step after which queries use other indexes. */
  readonly notify: (sql: Sql) => Promise<unknown>;
  /** Logs an error that no request reports. */
  readonly report: (error: string) => void;
}

export class Builder {
  readonly #options: BuilderOptions;
  readonly #node = randomUUID();
  readonly #size = new StepSize(stepTimes);
  /** How long the last step took, and its rows. */
  #lastMs = 0;
  #lastRows = 0;

  constructor(options: BuilderOptions) {
    this.#options = options;
  }

  /** Builds until nothing is left, or other nodes build the rest. */
  async work(isStopped: () => boolean): Promise<void> {
    const { run } = this.#options;
    for (const part of await run((connection) => connection.run(listBuilds)))
      while (!isStopped() && (await this.#work(part))) await sleep(pauseShare * this.#lastMs);
  }

  /** Takes one step. Returns whether to take another. */
  async #work(part: number): Promise<boolean> {
    const failed = await this.#options.run(async (connection) => {
      let lockedAt = 0;
      const result = await inTransaction(connection, async (sql) => {
        const [, running] = await allOrFirstError([
          lockHead(sql, part).then(() => {
            lockedAt = performance.now();
          }),
          findBuild(sql, part),
        ]);
        return running ? this.#step(sql, running) : false;
      });
      this.#lastMs = performance.now() - lockedAt;
      this.#size.adjust(this.#lastMs, this.#lastRows);
      return result;
    });
    if (typeof failed === "boolean") return failed;
    const { name, build, definition: replaces } = failed;
    const definition = withoutFailed(replaces, build);
    const define = {
      kind: "define",
      collection: name,
      definition,
      replaces,
      at: Date.now(),
    } as const;
    const [outcome] = await this.#options.commit([define]);
    // Otherwise another definition has come meanwhile.
    if (outcome?.kind === "done") this.#options.report(failureText(name, build));
    return true;
  }

  async #step(sql: Sql, running: RunningBuild): Promise<boolean | RunningBuild> {
    const { part, definition, version, build, now } = running;
    if (phaseOf(build) === "none") return false;
    const [node, at] = build.builder ?? [this.#node, 0];
    // A step in the future was taken before the clock was set back.
    if (node !== this.#node && Math.abs(now - at) < lostAfterMs) return false;
    if (isFailed(build)) return running;
    const limit = this.#size.rowsFor(`${part} ${phaseOf(build)}`);
    const next = await rebuildStep(sql, part, definition, build, limit);
    this.#lastRows = rowsOf(build, next) || limit;
    const state: IndexBuild = { ...next, builder: [this.#node, now] };
    await rows(saveBuild(sql, part, state));
    if (isNewPlan(build, state)) {
      const newVersion = version + 1;
      await rows(sql`
        UPDATE heads SET version = ${newVersion}::bigint WHERE part = ${part}::bigint`);
      await rows(sql`
        UPDATE collections SET version = ${newVersion}::bigint WHERE part = ${part}::bigint`);
      await this.#options.notify(sql);
    }
    return phaseOf(state) !== "none";
  }
}

async function listBuilds(sql: Sql): Promise<readonly number[]> {
  const found = await rows<readonly [number]>(sql`SELECT part FROM builds ORDER BY part`);
  return found.map(([part]) => part);
}

/**
 * After it no definition and no change of a resource comes between what is read and what is written. New
 * resources may, because they bring their index rows and are at the end: what inserts them takes a lock that
 * this one does not exclude, unless their values are compared with others.
 */
const lockHead = (sql: Sql, part: number): Promise<unknown> =>
  rows(sql`SELECT part FROM heads WHERE part = ${part}::bigint FOR KEY SHARE`);

/** Locks the build, so that another node does not take the same step. */
async function findBuild(sql: Sql, part: number): Promise<RunningBuild | undefined> {
  const [row] = await rows<readonly [string, string, number, string, number]>(sql`
    SELECT name, definition, version, state,
      floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM collections JOIN builds USING (part) WHERE part = ${part}::bigint
    FOR UPDATE OF builds`);
  if (!row) return undefined;
  const [name, definition, version, state, now] = row;
  return { part, name, definition, version, build: JSON.parse(state), now };
}

const inTransaction = <T>(connection: Connection, work: (sql: Sql) => Promise<T>): Promise<T> =>
  connection.run(async (sql) => {
    await rows(sql`BEGIN`);
    try {
      const result = await work(sql);
      await rows(sql`COMMIT`);
      return result;
    } catch (error) {
      await rows(sql`ROLLBACK`).catch(() => undefined);
      throw error;
    }
  });
