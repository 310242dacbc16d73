// Says what is wrong with a database whose tables are of another version, and what to do.

import { version } from "../lib/program.ts";
import { Outage } from "../model/outage.ts";

/**
 * The oldest Restante that can open a database of the newest schema version. It changes with the schema
 * version, of either engine.
 */
export const oldestVersion = "0.2.0";

/** What a database says of itself. */
export interface WrittenBy {
  /** The version of its tables; 0 when it has none. */
  readonly schema: number;
  /** The Restante that brought the tables to this schema version. */
  readonly restante?: string | undefined;
  /** The oldest Restante that can open it. */
  readonly oldest?: string | undefined;
}

/** The schema versions that an engine opens. */
export interface SchemaRange {
  readonly newest: number;
  /** The steps of migrations lead from here to the newest. */
  readonly oldest: number;
}

export const isInRange = (schema: number, { newest, oldest }: SchemaRange): boolean =>
  schema >= oldest && schema <= newest;

/** What to do when the tables are not the newest. */
export function adviceFor({ schema, oldest }: WrittenBy, range: SchemaRange): string {
  if (schema > range.newest) {
    const needed = oldest === undefined ? "update Restante" : `use Restante ${oldest} or later`;
    return `${needed}, or go back as docs/upgrading.md describes`;
  }
  if (schema === 0 || isInRange(schema, range)) return "start the server once";
  return "start with a new folder or database, or export the data with the version that wrote it";
}

/** Thrown when the tables are not the newest. */
export const otherVersion = (found: WrittenBy, range: SchemaRange): Outage =>
  new Outage("unavailable", `${problemOf(found, range)}: ${adviceFor(found, range)}`);

function problemOf({ schema, restante }: WrittenBy, { newest }: SchemaRange): string {
  if (schema === 0) return "there is no store in the database";
  if (schema < newest)
    return `the database has the schema version ${schema}, and this is Restante ${version}, which needs ${newest}`;
  const writer = restante === undefined ? "a newer Restante" : `Restante ${restante}`;
  return `the database was written by ${writer} (its schema version is ${schema}; this is Restante ${version}, which supports up to ${newest})`;
}
