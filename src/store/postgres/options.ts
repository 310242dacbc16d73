// Defines the options of the Postgres store, and their defaults.

import { Tasks } from "../../lib/tasks.ts";
import type { FileQuotas } from "../core/file-use.ts";
import type { Retention } from "../core/retention.ts";
import { defaultDeadlineMs } from "../query-queue.ts";
import type { Committer } from "../remote-committer.ts";
import { maxCounted, type QueryOptions } from "../store.ts";

export interface PostgresOptions extends QueryOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=…` and the like. */
  readonly url: string;
  /** A replica for reads. A commit waits until the replica has applied it, so that nodes read their own writes. */
  readonly readUrl?: string | undefined;
  /** The schema of the tables; created when it does not exist. */
  readonly schema?: string;
  /** The number of connections for reads. One more is for LISTEN. */
  readonly readers?: number;
  /** How many batches are written at the same time, each on a connection of its own. */
  readonly writers?: number;
  /** A statement that takes longer is cancelled. */
  readonly deadlineMs?: number;
  /** When the answer is this much later than the deadline, the connection is closed. */
  readonly extraMs?: number;
  /** How often a connection is checked whose statements have no deadline, or that waits for notifications. */
  readonly checkMs?: number;
  /** How long tokens and rules are cached; a change whose notification is lost takes effect after this time. */
  readonly cacheMs?: number;
  /** How long removals are stored; without it forever, and expired keys until they are in the way. */
  readonly retention?: Retention | undefined;
  readonly fileQuotas?: FileQuotas | undefined;
  /** Commits in another process, so that the processes of a node do not wait for each other's locks. */
  readonly committer?: Pick<Committer, "commit"> | undefined;
  /** Where its work in the background is shown. */
  readonly tasks?: Tasks;
  /** How many queries that can be long run at the same time, each on a connection of its own. */
  readonly queries?: number;
  /** Called about once a second while an old database is migrated. */
  readonly onProgress?: (message: string) => void;
  /** Called with an error of the work in the background. */
  readonly onError?: (message: string) => void;
}

const defaults = {
  readUrl: undefined,
  schema: "restante",
  readers: 4,
  writers: 4,
  deadlineMs: 10_000,
  extraMs: 2_000,
  checkMs: 5_000,
  cacheMs: 1_000,
  retention: undefined,
  fileQuotas: undefined,
  committer: undefined,
  queries: 4,
  queryDeadlineMs: defaultDeadlineMs,
  maxCounted,
  metrics: undefined,
  onProgress: () => undefined,
  onError: () => undefined,
};

export type PostgresSettings = Required<PostgresOptions>;

export const withDefaults = (options: PostgresOptions): PostgresSettings => ({
  ...defaults,
  tasks: options.tasks ?? new Tasks(),
  ...options,
});

const schemaPattern = /^[a-z_][a-z0-9_]{0,39}$/;

export function assertSchemaName(schema: string): void {
  if (!schemaPattern.test(schema))
    throw new Error(`"${schema}" is not a valid schema name: use lower-case letters, digits and _`);
}
