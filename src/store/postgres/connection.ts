// Opens a database connection with safe settings, and never reuses it after a connection error.

import { connect, type Socket } from "node:net";
import postgres, { type Row as NamedRow, type PendingQuery } from "postgres";
import { Outage } from "../../model/outage.ts";
import {
  ConnectionLost,
  isConnectionLost,
  isUnreachable,
  messageOf,
  NoAnswer,
  outageOf,
} from "./errors.ts";

export interface ConnectionOptions {
  readonly url: string;
  /** The schema that contains the tables. */
  readonly schema: string;
  /** The server cancels a statement that takes longer; 0 means no limit. */
  readonly deadlineMs: number;
  /** When the answer is this much later than the deadline, the server or the network is gone. */
  readonly extraMs?: number;
  /** How often a session is looked at whose statements have no limit. */
  readonly checkMs?: number;
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
const defaultExtraMs = 2_000;
/** How long the server has to end its side of a connection that is closed. */
const leaveMs = 1_000;
/** The system finds out in about this time that the other machine is gone. */
const keepAliveMs = 60_000;
const defaultCheckMs = 5_000;
/** How long a look at another session may take at least. */
const minLookMs = 1_000;

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
  // The server ends the session of a machine that is gone in two minutes, and not in two hours.
  tcp_keepalives_idle: "60",
  tcp_keepalives_interval: "10",
  tcp_keepalives_count: "6",
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

/** Where the driver connects to: one host or several, or a socket in the file system. */
interface ServerAddress {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false;
}

/**
 * Each driver instance has one connection and must never reconnect: statements of a transaction would run
 * on a new connection, without the transaction and without our settings. The driver's own pool can also
 * hang, or end the process, when a connection breaks at the wrong moment (porsager/postgres#1066). Left to
 * itself it connects again for statements that wait, and without a pause when a server ends new connections.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #sql: Sql;
  readonly #timeoutMs: number | undefined;
  #pid = 0;
  #socket: Socket | undefined;
  #hostsTried = 0;
  #inFlight = 0;
  readonly #onIdle: (() => void)[] = [];
  #isClosing = false;
  #isLost = false;
  #isSilent = false;
  #isNotReplicated = false;

  private constructor(options: ConnectionOptions) {
    const { url, deadlineMs, extraMs = defaultExtraMs, onNotify } = options;
    this.#options = options;
    this.#timeoutMs = deadlineMs === 0 ? undefined : deadlineMs + extraMs;
    const driverOptions = {
      max: 1,
      max_lifetime: null,
      connect_timeout: connectSeconds,
      fetch_types: false,
      types,
      connection: { application_name: "restante" },
      socket: (address: ServerAddress) => this.#connect(address),
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
      connection.#pid = await connection.run((sql) => configure(sql, options));
      return connection;
    } catch (error) {
      connection.destroy();
      const outage = new Outage("unavailable", `cannot connect: ${messageOf(error)}`);
      throw outageOf(error) ?? outage;
    }
  }

  /** Whether it takes no more calls. */
  get isLost(): boolean {
    return this.#isLost || this.#isClosing;
  }

  /** Whether it was closed because the server did not answer. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Identifies the server process of the connection. */
  get pid(): number {
    return this.#pid;
  }

  /** The number of calls that wait for a result. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Statements of the same call are sent together, in one round trip. */
  async run<T>(send: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.isLost) throw new ConnectionLost("the connection was closed before the statement");
    this.#inFlight++;
    const stopWatch = this.#watch();
    try {
      const result = await send(this.#sql);
      if (this.#isNotReplicated) throw notReplicated();
      return result;
    } catch (error) {
      if (isConnectionLost(error)) this.destroy();
      throw this.#isSilent ? new NoAnswer("the database does not answer", { cause: error }) : error;
    } finally {
      stopWatch();
      this.#inFlight--;
      if (this.#inFlight === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    }
  }

  /** Waits for calls in flight. */
  async close(): Promise<void> {
    this.#isClosing = true;
    // The driver would not answer statements that wait for the one it has sent.
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    await this.#sql.end({ timeout: leaveMs / 1_000 });
    this.#socket?.destroy();
  }

  /** Rejects calls in flight, those that the driver has queued, and all further ones. */
  destroy(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    void this.#sql.end({ timeout: 0 });
    // The driver waits for the other side.
    setTimeout(() => this.#socket?.destroy(), leaveMs).unref();
  }

  /** Returns a function that ends the watch. */
  #watch(): () => void {
    const { checkMs = defaultCheckMs } = this.#options;
    if (this.#timeoutMs === undefined)
      return watchSession(
        () => this.#look(),
        checkMs,
        () => this.#giveUp(),
      );
    const timer = setTimeout(() => this.#giveUp(), this.#timeoutMs);
    return () => clearTimeout(timer);
  }

  /** Errors of the server, such as too many connections, show that it is there. */
  async #look(): Promise<SessionState> {
    const deadlineMs = Math.max(this.#options.checkMs ?? defaultCheckMs, minLookMs);
    try {
      const other = await Connection.open({ ...this.#options, deadlineMs });
      const state = await other
        .run((sql) => stateOf(sql, this.#pid))
        .finally(() => other.destroy());
      return state ?? "gone";
    } catch (error) {
      return isUnreachable(error) ? "unreachable" : "active";
    }
  }

  #giveUp(): void {
    this.#isSilent = true;
    this.destroy();
  }

  /** The driver calls it again for the next of several hosts, and when the connection was lost. */
  #connect({ host, port, path }: ServerAddress): Socket {
    const index = this.#hostsTried++;
    if (this.#isLost || index >= host.length) {
      this.destroy();
      throw new ConnectionLost("the server has closed the connection");
    }
    const at = { host: host[index], port: port[index] ?? 0 };
    const socket = path ? connect(path) : connect(at);
    socket.on("connect", () => socket.setNoDelay(true).setKeepAlive(true, keepAliveMs));
    this.#socket = socket;
    // The driver compares the name in the certificate with it.
    return Object.assign(socket, at);
  }
}

/** Returns the number of the server process. */
async function configure(sql: Sql, options: ConnectionOptions): Promise<number> {
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
  const [row] = await sql`
    SELECT set_config(name, wanted.value, false), pg_backend_pid() AS pid
    FROM unnest(${Object.keys(wanted)}::text[], ${Object.values(wanted)}::text[])
      AS wanted (name, value)
    JOIN pg_catalog.pg_settings USING (name)
    WHERE name <> 'synchronous_commit' OR setting = 'off' OR ${String(waitsForReplica)} = 'true'`;
  return row?.pid ?? 0;
}

/** Between the parts of a statement a session is active, too, and waits for the client. */
async function stateOf(sql: Sql, pid: number): Promise<SessionState | undefined> {
  const [row] = await rows<readonly [string]>(sql`
    SELECT CASE WHEN state = 'active' AND wait_event IS DISTINCT FROM 'ClientRead' THEN state
      ELSE state_change::text END
    FROM pg_catalog.pg_stat_activity WHERE pid = ${pid}::bigint::int`);
  return row?.[0];
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

/**
 * What a session does: `active`, or when it ended its last statement. `gone`: it has ended.
 * `unreachable`: the server could not be asked.
 */
type SessionState = string;

/** So many looks in a row must see no change, because answers take time on their way. */
const maxLooks = 4;

/** Calls `onLost` when the session has nothing more to do, or cannot be reached. Returns a function that ends the watch. */
function watchSession(
  look: () => Promise<SessionState>,
  checkMs: number,
  onLost: () => void,
): () => void {
  let last: SessionState | undefined;
  let looks = 0;
  let isEnded = false;
  const check = async () => {
    const state = await look();
    const isSame = state === last || state === "unreachable";
    looks = state === "active" ? 0 : isSame ? looks + 1 : 1;
    if (state !== "unreachable") last = state;
    if (isEnded) return;
    if (looks >= maxLooks) onLost();
    else schedule();
  };
  let timer: NodeJS.Timeout | undefined;
  const schedule = () => {
    timer = setTimeout(() => void check(), checkMs);
  };
  schedule();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

/** Every bigint becomes a number: counters stay far below 2^53. */
const types = {
  number: { to: 20, from: [20], serialize: String, parse: Number },
  numbers: { to: 1016, from: [1016], serialize: numberArray, parse: String },
  text: { to: 25, from: [25], serialize: withoutNul, parse: String },
  texts: { to: 1009, from: [1009], serialize: textArray, parse: String },
};

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
