// Defines the options of the SQLite store, and the default number of readers.

import { availableParallelism } from "node:os";
import type { MapFile } from "../../lib/file-access.ts";
import type { Committer } from "../remote-committer.ts";
import type { QueryOptions } from "../store.ts";
import type { DatabaseOptions } from "./database.ts";
import type { Report } from "./writer-client.ts";

export interface SqliteOptions extends DatabaseOptions, QueryOptions {
  /** The data directory; created when it does not exist. */
  readonly path: string;
  /** Maps a file into memory, so that readers notice commits without a query before each read. */
  readonly mapFile?: MapFile | undefined;
  /** Commits in another process; then this process only reads the file. */
  readonly committer?: Committer | undefined;
  /** How many threads answer queries that can be long. */
  readonly readers?: number | undefined;
  /** A query that looks at no more index entries or resources is answered on this thread. */
  readonly shortRows?: number | undefined;
  /** Logs disk failures and repairs. */
  readonly report?: Report | undefined;
}

/** One core is left for the event loop. */
export const defaultReaders = Math.max(1, Math.min(4, availableParallelism() - 1));
