// The oldest version that can open a database, and what a version says that finds a newer one.

import { version } from "../lib/program.ts";
import { Outage } from "../model/outage.ts";

/**
 * The oldest Restante that can open a database of the newest schema version. It changes with the schema
 * version, of either engine.
 */
export const oldestVersion = "0.2.0";

/** What a database says of itself. Versions before 0.2.0 stored no names of versions. */
export interface WrittenBy {
  readonly schema: number;
  /** The Restante that brought the tables to this schema version. */
  readonly restante?: string | undefined;
  /** The oldest Restante that can open it. */
  readonly oldest?: string | undefined;
}

/** Thrown by a version that is older than the database. */
export function newerDatabase({ schema, restante, oldest }: WrittenBy, newest: number): Outage {
  const writer = restante === undefined ? "a newer Restante" : `Restante ${restante}`;
  const needed = oldest === undefined ? "update Restante" : `use Restante ${oldest} or later`;
  return new Outage(
    "unavailable",
    `the database was written by ${writer} (its schema version is ${schema}; this is Restante ${version}, which supports up to ${newest}): ${needed}, or go back as docs/upgrading.md describes`,
  );
}
