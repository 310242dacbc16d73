// Classifies database errors: outages of the server, conflicts to retry, and bugs.

import postgres from "postgres";
import { own } from "../../lib/own-property.ts";
import { Outage } from "../../model/outage.ts";

type Reason = Outage["reason"];

/** Reasons and messages by SQLSTATE code or class (postgresql.org/docs/current/errcodes-appendix.html). */
const conditions: Readonly<Record<string, readonly [Reason, string]>> = {
  "08": ["unavailable", "the connection to the database broke"],
  "08007": ["unknown", "the connection to the database broke during the commit"],
  "25006": ["unavailable", "the database is read-only"],
  "28": ["unavailable", "the database rejects the user"],
  "3D000": ["unavailable", "the database does not exist"],
  "40": ["busy", "too many concurrent writes to the same data"],
  "40003": ["unknown", "the database cannot say whether it has committed"],
  "42501": ["unavailable", "the database user lacks a permission"],
  "53": ["unavailable", "the database server is out of resources"],
  "53100": ["full", "the disk of the database is full"],
  "53300": ["busy", "the database accepts no more connections"],
  "55P03": ["busy", "the data is locked by another transaction"],
  "57": ["unavailable", "the database is stopping or starting"],
  "57014": ["busy", "the database did not answer in time"],
  "58": ["unavailable", "the database's disk reports an error"],
  XX: ["unavailable", "the database is damaged or has failed"],
};

/** Errors to retry: serialization failure, deadlock, unique violation. */
const conflicts = new Set(["40001", "40P01", "23505"]);

/** Error codes of the driver and of sockets for a lost or failed connection. */
const lostCodes = /^(?:CONNECT|E)/;

export const isConflict = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && conflicts.has(error.code);

/** Thrown when a connection was closed before a statement could be sent on it. */
export class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";
}

/** Thrown when the server has not answered for so long that the connection was closed. */
export class NoAnswer extends Error {
  readonly code = "CONNECTION_SILENT";
}

/** Whether work can be done on another connection now. When there was no answer, the caller has waited enough. */
export const isRepeatable = (error: unknown): boolean =>
  isConnectionLost(error) && !(error instanceof NoAnswer);

/** The same for a read, which can be done again also when a new connection was lost while it was opened. */
export const isRepeatableRead = (error: unknown): boolean =>
  isRepeatable(error) || (error instanceof Outage && isSessionEnded(error.cause));

/** Whether the server has accepted a connection and then ended it. */
const isSessionEnded = (error: unknown): boolean =>
  error instanceof Error && "code" in error && sessionEnds.has(String(error.code));

const sessionEnds: ReadonlySet<string> = new Set(["CONNECTION_CLOSED", "ECONNRESET", "57P01"]);

/** Whether no server has answered. Its errors show that it is there. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof Outage ? isUnreachable(error.cause) : !(error instanceof postgres.PostgresError);

/** Whether a table does not exist, or no longer. */
export const isMissingTable = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "42P01";

/** Whether a table or a column is not as the statement expects it (class 42). */
export const isOtherSchema = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code.startsWith("42");

/** Whether a value could not be converted, for example to JSON, by the server or here. */
export const isDataError = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  (error instanceof postgres.PostgresError && error.code.startsWith("22"));

/** Whether the error has closed the connection. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof postgres.PostgresError) return error.severity !== "ERROR";
  return error instanceof Error && "code" in error && lostCodes.test(String(error.code));
}

/** Error classes after which the result of a commit is unknown. */
const uncertainClasses = new Set(["08", "57", "58", "XX"]);

/** Whether a commit that failed with this error may still have succeeded. */
export function isUncertain(error: unknown): boolean {
  if (isConnectionLost(error)) return true;
  return error instanceof postgres.PostgresError && uncertainClasses.has(error.code.slice(0, 2));
}

/** Whether the server has stopped a statement that took too long, which undoes it. */
export const isCanceled = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "57014";

/** Whether the server is out of disk space, memory or similar, but not of connections. */
export const isOutOfResources = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code.startsWith("53") && error.code !== "53300";

/** Whether the user lacks a permission. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "42501";

/** Whether the server is read-only: it may have become a replica after a failover. */
export const isReadOnly = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.code === "25006";

/** Returns an Outage when the server caused the error, or undefined when it is a bug. */
export function outageOf(error: unknown): Outage | undefined {
  if (error instanceof Outage) return error;
  const code = error instanceof postgres.PostgresError ? error.code : "";
  // An error that has closed the connection is no bug, whatever its code is.
  const lost = isConnectionLost(error) ? conditions["08"] : undefined;
  const condition = own(conditions, code) ?? own(conditions, code.slice(0, 2)) ?? lost;
  if (!condition) return undefined;
  const [reason, description] = condition;
  return new Outage(reason, `${description} (${messageOf(error)})`, { cause: error });
}

/** The same for a read. It needs the disk for a moment only, for example to sort: nothing is too large to be stored. */
export function readOutageOf(error: unknown): Outage | undefined {
  const outage = outageOf(error);
  if (outage?.reason !== "full") return outage;
  return new Outage("unavailable", outage.message, { cause: error });
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || String(error) : String(error);
