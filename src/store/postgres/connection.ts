// Opens a database connection with safe settings, and never reuses it after a connection error.

import postgres, { type Row as NamedRow, type PendingQuery } from "postgres";
import { Outage } from "../../model/outage.ts";
import { ConnectionLost, isConnectionLost, messageOf, outageOf } from "./errors.ts";

export interface ConnectionOptions {
  readonly url: string;
  /** The schema that contains the tables. */
  readonly schema: string;
  /** The server cancels a statement that takes longer; 0 means no limit. */
  readonly deadlineMs: number;
  /** Whether a commit waits until the standby has applied it. */
  readonly waitsForReplica?: boolean;
  /** Called for each notification on a channel that the connection listens to. */
  readonly onNotify?: (payload: string) => void;
}

export type { NamedRow };
export type Sql = postgres.Sql<Record<string, never>>;
export type Statement = PendingQuery<NamedRow[]>;
export type Value = string | number | null;
export type Row = readonly Value[];

const connectSeconds = 5;
/** When the answer is this much later than the deadline, the server or the network is gone. */
const extraMs = 2_000;

/** Every bigint becomes a number: counters stay far below 2^53. */
const types = {
  number: { to: 20, from: [20], serialize: String, parse: Number },
  numbers: { to: 1016, from: [1016], serialize: numberArray, parse: String },
  text: { to: 25, from: [25], serialize: withoutNul, parse: String },
  texts: { to: 1009, from: [1009], serialize: textArray, parse: String },
};

/**
 * Applied where the server has the setting. Statements look up rows by key, so a generic plan is good for
 * every value. A plan made while a table was small must not scan the whole table when it is large. Nor may
 * it use any index that begins with the part: all indexes of a small table cost the same. So statements
 * leave one choice (decision 71): a row is looked up with `BETWEEN x AND x ORDER BY`, because only the index
 * of the column has that order, or by its address and `part + 0`, which no index has.
 */
const settings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_mergejoin: "off",
  enable_hashjoin: "off",
  jit: "off",
  // A single statement must wait for a lock as a transaction of ours does.
  default_transaction_isolation: "read committed",
  // A long query must not take the processors from other reads.
  max_parallel_workers_per_gather: "0",
};

/**
 * The function of the server that reports a commit which no longer waits for the standby, because
 * somebody cancelled it. The server says that it has committed, but a failover would lose it.
 */
const waitForStandby = "SyncRepWaitForLSN";

const notReplicated = (): Outage =>
  new Outage("unknown", "the commit was cancelled before the standby of the database had it");

/**
 * Each driver instance has one connection and must never reconnect: statements of a transaction would run
 * on a new connection, without the transaction and without our settings. The driver's own pool can also
 * hang, or end the process, when a connection breaks at the wrong moment (porsager/postgres#1066).
 */
export class Connection {
  readonly #sql: Sql;
  readonly #timeoutMs: number | undefined;
  #inFlight = 0;
  #isLost = false;
  #isNotReplicated = false;

  private constructor(options: ConnectionOptions) {
    const { url, deadlineMs, onNotify } = options;
    this.#timeoutMs = deadlineMs === 0 ? undefined : deadlineMs + extraMs;
    const driverOptions = {
      ...{ max: 1, max_lifetime: null, connect_timeout: connectSeconds, fetch_types: false, types },
      connection: { application_name: "restante" },
      onclose: () => this.destroy(),
      onnotice: ({ routine }: { readonly routine?: string }) => {
        if (routine !== waitForStandby) return;
        this.#isNotReplicated = true;
        this.destroy();
      },
      onnotify: (_channel: string, payload: string) => onNotify?.(payload),
    };
    this.#sql = postgres(url, driverOptions) as unknown as Sql;
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(options);
    try {
      await connection.run((sql) => configure(sql, options));
      return connection;
    } catch (error) {
      connection.destroy();
      const outage = new Outage("unavailable", `cannot connect: ${messageOf(error)}`);
      throw outageOf(error) ?? outage;
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The number of calls that wait for a result. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Statements of the same call are sent together, in one round trip. */
  async run<T>(send: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#isLost) throw new ConnectionLost("the connection was closed before the statement");
    this.#inFlight++;
    const timer = this.#timeoutMs && setTimeout(() => this.destroy(), this.#timeoutMs);
    try {
      const result = await send(this.#sql);
      if (this.#isNotReplicated) throw notReplicated();
      return result;
    } catch (error) {
      if (isConnectionLost(error)) this.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#inFlight--;
    }
  }

  /** Waits for calls in flight. */
  async close(): Promise<void> {
    const timeout = this.#timeoutMs && this.#timeoutMs / 1000;
    await this.#sql.end(timeout === undefined ? {} : { timeout });
  }

  /** Rejects calls in flight, those that the driver has queued, and all further ones. */
  destroy(): void {
    this.#isLost = true;
    void this.#sql.end({ timeout: 0 });
  }
}

async function configure(sql: Sql, options: ConnectionOptions): Promise<void> {
  const { schema, deadlineMs, waitsForReplica = false } = options;
  const wanted = {
    ...settings,
    search_path: schema,
    statement_timeout: String(deadlineMs),
    // A node that crashes must not hold its locks.
    idle_in_transaction_session_timeout: String(deadlineMs),
    synchronous_commit: waitsForReplica ? "remote_apply" : "on",
  };
  // Values that also wait for replicas stay as they are; only `off` acknowledges commits that are not on disk.
  await sql`
    SELECT set_config(name, wanted.value, false)
    FROM unnest(${Object.keys(wanted)}::text[], ${Object.values(wanted)}::text[])
      AS wanted (name, value)
    JOIN pg_catalog.pg_settings USING (name)
    WHERE name <> 'synchronous_commit' OR setting = 'off' OR ${String(waitsForReplica)} = 'true'`;
}

/** Returns rows as arrays. They are collected here, because after an error the driver's own list has gaps. */
export async function rows<R extends Row>(statement: Statement): Promise<readonly R[]> {
  const gathered: unknown[] = [];
  await statement.values().forEach((row) => void gathered.push(row));
  return gathered as R[];
}

/** Returns rows with the bytes of each column, as the server sent them. */
export async function rawRows(statement: Statement): Promise<readonly (readonly Buffer[])[]> {
  const gathered: unknown[] = [];
  await statement.raw().forEach((row) => void gathered.push(row));
  return gathered as Buffer[][];
}

/** Returns one property of all items, as an array parameter for a statement. */
export const column = <T, K extends keyof T>(items: readonly T[], name: K): T[K][] =>
  items.map((item) => item[name]);

/** Resolves with all results, or rejects with the first error: later ones only say that the transaction failed. */
export async function allOrFirstError<T extends readonly unknown[]>(
  answers: readonly [...{ [I in keyof T]: Promise<T[I]> }],
): Promise<T> {
  for (const answer of await Promise.allSettled(answers))
    if (answer.status === "rejected") throw answer.reason;
  return Promise.all(answers) as unknown as Promise<T>;
}

/** Postgres text cannot contain NUL. No stored value has one, so a lookup with one must find nothing. */
const insteadOfNul = "\uffff";

function withoutNul(text: unknown): string {
  return String(text).replaceAll("\0", insteadOfNul);
}

function textArray(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? "NULL" : `"${quoted(text)}"`)).join()}}`;
}

/** Most ids and keys need no quotes inside. */
const quoted = (text: string): string =>
  /["\\\0]/.test(text) ? withoutNul(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"') : text;

function numberArray(numbers: readonly (number | null)[]): string {
  return `{${numbers.map((number) => number ?? "NULL").join()}}`;
}
