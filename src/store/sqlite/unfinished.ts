// Undoes or finishes what a killed process has begun in the database, which readers cannot do.

import { Connection, isUnfinished } from "./connection.ts";

/** Other errors are those of the next one who opens the file. Only the process that writes may call it. */
export function finishChange(path: string): void {
  let connection: Connection | undefined;
  try {
    connection = new Connection(path, "read");
    connection.query("PRAGMA user_version").one();
  } catch (error) {
    if (isUnfinished(error)) new Connection(path, "write").close();
  } finally {
    connection?.close();
  }
}
