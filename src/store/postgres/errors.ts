// Names what goes wrong with the server, and tells it from mistakes of ours.

import postgres from "postgres";
import { own } from "../../lib/own-property.ts";
import { Outage } from "../store.ts";

type Reason = Outage["reason"];

/** What SQLSTATE codes and classes tell of the server (postgresql.org/docs/current/errcodes-appendix.html). */
const conditions: Readonly<Record<string, readonly [Reason, string]>> = {
  "08": ["unavailable", "the connection to the database broke"],
  "08007": ["unknown", "the connection to the database broke during the commit"],
  "25006": ["unavailable", "the database is read-only"],
  "28": ["unavailable", "the database refuses the user"],
  "3D000": ["unavailable", "there is no such database"],
  "40": ["busy", "too many want to write the same"],
  "40003": ["unknown", "the database cannot tell whether it has committed"],
  "42501": ["unavailable", "the database does not let the user do this"],
  "53": ["unavailable", "the database lacks resources"],
  "53100": ["full", "no room is left on the database's disk"],
  "53300": ["busy", "the database takes no more connections"],
  "55P03": ["busy", "the database is locked by others"],
  "57": ["unavailable", "the database stops or starts"],
  "57014": ["busy", "the database did not answer in time"],
  "58": ["unavailable", "the database's disk reports an error"],
  XX: ["unavailable", "the database is damaged or has failed"],
};

/** Another attempt may well succeed: a conflict, a deadlock, or a race for the same new key. */
const conflicts = new Set(["40001", "40P01", "23505"]);

/** The driver's own codes and those of sockets, for a connection that is gone or never was. */
const lostCodes = /^(?:CONNECT|E)/;

export const isConflict = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && conflicts.has(error.code);

/** Whether the connection is gone with the error. */
export function isLoss(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return error.severity !== "ERROR";
  return error instanceof Error && "code" in error && lostCodes.test(String(error.code));
}

/** Classes of errors that tell nothing of whether a commit that failed with them has happened. */
const uncertainClasses = new Set(["08", "57", "58", "XX"]);

/** Whether a commit that failed with this error may have happened all the same. */
export function isUncertain(error: unknown): boolean {
  if (isLoss(error)) return true;
  return error instanceof postgres.PostgresError && uncertainClasses.has(error.code.slice(0, 2));
}

/** Whether the server lacks disk, memory or the like, but not connections. */
export const isOfResources = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code.startsWith("53") && error.code !== "53300";

/** Whether the server takes no writes: it may have become a replica, and another the one to write to. */
export const isReadOnly = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "25006";

/** What the error tells of the server, or nothing when it is a mistake of ours. */
export function storageTrouble(error: unknown): Outage | undefined {
  if (error instanceof Outage) return error;
  const code = error instanceof postgres.PostgresError ? error.code : isLoss(error) ? "08" : "";
  const condition = own(conditions, code) ?? own(conditions, code.slice(0, 2));
  if (!condition) return undefined;
  const [reason, words] = condition;
  return new Outage(reason, `${words} (${reasonOf(error)})`, { cause: error });
}

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || String(error) : String(error);
