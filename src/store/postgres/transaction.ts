// Begins, commits and rolls back transactions.

import { Outage } from "../../model/outage.ts";
import { allOrFirstError, type Connection, type Row, rows, type Sql } from "./connection.ts";
import { isConnectionLost, isUncertain, messageOf } from "./errors.ts";

/** Sends the statements and COMMIT together. When a statement fails, the COMMIT rolls back. */
export async function commit(
  connection: Connection,
  send: (sql: Sql) => readonly Promise<unknown>[],
): Promise<void> {
  let answer = Promise.resolve("");
  try {
    await connection.run((sql) => {
      const statements = send(sql);
      answer = sql`COMMIT`.then(({ command }) => command);
      return allOrFirstError([...statements, answer]);
    });
  } catch (error) {
    throw await commitError(error, answer);
  }
  if ((await answer) !== "COMMIT") throw new Error(`the commit ended as ${await answer}`);
}

/**
 * Returns the error to throw. When the server has answered the COMMIT after a failed statement, nothing
 * was stored. When the COMMIT itself failed, the error decides whether the result is unknown.
 */
async function commitError(error: unknown, answer: Promise<string>): Promise<unknown> {
  const [settled] = await Promise.allSettled([answer]);
  if (settled.status === "fulfilled" || !isUncertain(settled.reason)) return error;
  const message = `the database failed during the commit (${messageOf(settled.reason)})`;
  return new Outage("unknown", message, { cause: settled.reason });
}

export const begin = (sql: Sql): Promise<readonly Row[]> =>
  rows(sql`BEGIN ISOLATION LEVEL READ COMMITTED`);

export const rollback = (connection: Connection): Promise<unknown> =>
  connection.run((sql) => rows(sql`ROLLBACK`));

export async function withRollback<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isConnectionLost(error)) await rollback(connection);
    throw error;
  }
}
