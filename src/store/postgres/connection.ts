// One connection: opened the one way that keeps our promises, and never trusted again after a fault.

import postgres, { type Row as NamedRow, type PendingQuery } from "postgres";
import { Outage } from "../store.ts";
import { isLoss, reasonOf, storageTrouble } from "./errors.ts";

export interface ConnectionOptions {
  readonly url: string;
  /** Where the tables are. */
  readonly schema: string;
  /** The server gives up a statement that takes longer; 0 lets it take any time. */
  readonly deadlineMs: number;
  /** A commit is answered only when the standby shows it, too. */
  readonly waitsForReplica?: boolean;
  /** Hears what is notified on channels that the connection listens to. */
  readonly onNotify?: () => void;
}

export type Sql = postgres.Sql<Record<string, never>>;
export type Statement = PendingQuery<NamedRow[]>;
export type Value = string | number | null;
export type Row = readonly Value[];

const connectSeconds = 5;
/** An answer that is so late does not come: the server, or the way to it, is gone without a word. */
const graceMs = 2_000;

/** Counters are far below 2^53, so that all numbers are plain numbers. */
const types = {
  number: { to: 20, from: [20], serialize: String, parse: Number },
  numbers: { to: 1016, from: [1016], serialize: numberArray, parse: String },
  text: { to: 25, from: [25], serialize: withoutNul, parse: String },
  texts: { to: 1009, from: [1009], serialize: textArray, parse: String },
};

/**
 * Where the server has the setting: statements are keyed look-ups, so that a plan made once is good
 * for every value, and one made while a table was small must not read the table that it has become.
 */
const settings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_mergejoin: "off",
  enable_hashjoin: "off",
  jit: "off",
};

/**
 * The driver gets one connection at a time and none a second time: its own pool and reconnection can
 * hang, or end the process, when a connection breaks at the wrong moment (porsager/postgres#1066).
 */
export class Connection {
  readonly #sql: Sql;
  readonly #patienceMs: number | undefined;
  #underWay = 0;
  #isLost = false;

  private constructor(options: ConnectionOptions) {
    const { url, deadlineMs, onNotify } = options;
    this.#patienceMs = deadlineMs === 0 ? undefined : deadlineMs + graceMs;
    const driverOptions = {
      ...{ max: 1, max_lifetime: null, connect_timeout: connectSeconds, fetch_types: false, types },
      connection: { application_name: "restante" },
      onclose: () => {
        this.#isLost = true;
      },
      onnotice: () => undefined,
      onnotify: onNotify,
    };
    this.#sql = postgres(url, driverOptions) as unknown as Sql;
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(options);
    try {
      await connection.ask((sql) => settle(sql, options));
      return connection;
    } catch (error) {
      connection.drop();
      const outage = new Outage("unavailable", `cannot connect: ${reasonOf(error)}`);
      throw storageTrouble(error) ?? outage;
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** How many wait for an answer. */
  get underWay(): number {
    return this.#underWay;
  }

  /** What is sent in the same call goes out together, and costs one round trip. */
  async ask<T>(send: (sql: Sql) => Promise<T>): Promise<T> {
    this.#underWay++;
    const timer = this.#patienceMs && setTimeout(() => this.drop(), this.#patienceMs);
    try {
      return await send(this.#sql);
    } catch (error) {
      if (isLoss(error)) this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#underWay--;
    }
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    const timeout = this.#patienceMs && this.#patienceMs / 1000;
    await this.#sql.end(timeout === undefined ? {} : { timeout });
  }

  /** Fails what is under way. */
  drop(): void {
    this.#isLost = true;
    void this.#sql.end({ timeout: 0 });
  }
}

async function settle(sql: Sql, options: ConnectionOptions): Promise<void> {
  const { schema, deadlineMs, waitsForReplica = false } = options;
  const wanted = {
    ...settings,
    search_path: schema,
    statement_timeout: String(deadlineMs),
    // A node that dies without a word must not keep its locks.
    idle_in_transaction_session_timeout: String(deadlineMs),
    synchronous_commit: waitsForReplica ? "remote_apply" : "on",
  };
  // What waits for replicas too is left alone; only `off` would acknowledge what is not on disk.
  await sql`
    SELECT set_config(name, wanted.value, false)
    FROM unnest(${Object.keys(wanted)}::text[], ${Object.values(wanted)}::text[])
      AS wanted (name, value)
    JOIN pg_catalog.pg_settings USING (name)
    WHERE name <> 'synchronous_commit' OR setting = 'off' OR ${String(waitsForReplica)} = 'true'`;
}

/** Rows as arrays. Gathered here, because after an error the driver's own list begins with gaps. */
export async function rows<R extends Row>(statement: Statement): Promise<readonly R[]> {
  const gathered: unknown[] = [];
  await statement.values().forEach((row) => void gathered.push(row));
  return gathered as R[];
}

/** One member of each: what a statement takes as an array. */
export const column = <T, K extends keyof T>(items: readonly T[], name: K): T[K][] =>
  items.map((item) => item[name]);

/** All answers, or the first error: those after it only tell that the transaction has failed. */
export async function together<T extends readonly unknown[]>(
  answers: readonly [...{ [I in keyof T]: Promise<T[I]> }],
): Promise<T> {
  for (const answer of await Promise.allSettled(answers))
    if (answer.status === "rejected") throw answer.reason;
  return Promise.all(answers) as unknown as Promise<T>;
}

/** Postgres has no NUL. Nothing that is kept has one, so that what is looked up with one is not there. */
const insteadOfNul = "\uffff";

function withoutNul(text: unknown): string {
  return String(text).replaceAll("\0", insteadOfNul);
}

function textArray(texts: readonly (string | null)[]): string {
  const quote = (text: string | null) =>
    text === null ? "NULL" : `"${withoutNul(text).replace(/["\\]/g, "\\$&")}"`;
  return `{${texts.map(quote).join()}}`;
}

function numberArray(numbers: readonly (number | null)[]): string {
  return `{${numbers.map((number) => number ?? "NULL").join()}}`;
}
