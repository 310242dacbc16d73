// Holds the build of indexes in a data folder, so that a test can look at it while it runs.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

function run(data: string, sql: string): void {
  const database = new DatabaseSync(join(data, "restante.db"));
  database.exec(`PRAGMA busy_timeout = 60000; ${sql}`);
  database.close();
}

/** While the progress of a build cannot be stored, its steps are repeated, and it does not end. */
export const holdBuilds = (data: string): void =>
  run(
    data,
    `CREATE TRIGGER hold_insert BEFORE INSERT ON builds
      WHEN EXISTS (SELECT 1 FROM builds WHERE part = NEW.part)
      BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER hold_delete BEFORE DELETE ON builds BEGIN SELECT RAISE(IGNORE); END`,
  );

export const releaseBuilds = (data: string): void =>
  run(data, "DROP TRIGGER hold_insert; DROP TRIGGER hold_delete");
