// Holds the build of indexes, so that a test can look at it, or stop what builds, while it runs.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** What holds builds, and what releases them, as SQL. */
export interface BuildHold {
  readonly hold: string;
  readonly release: string;
}

/**
 * While progress beyond so many rows cannot be stored, the step to it is repeated, and the build does not
 * end. The first row of a build is always stored.
 */
export const holdOfSqlite = (rows: number): BuildHold => ({
  hold: `
    CREATE TRIGGER hold_insert BEFORE INSERT ON builds
      WHEN NEW.state ->> 'done' > ${rows} AND EXISTS (SELECT 1 FROM builds WHERE part = NEW.part)
      BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER hold_delete BEFORE DELETE ON builds BEGIN SELECT RAISE(IGNORE); END`,
  release: "DROP TRIGGER hold_insert; DROP TRIGGER hold_delete",
});

export const holdOfPostgres = (rows: number): BuildHold => ({
  hold: `
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' AND NOT (
        (NEW.state::jsonb ->> 'done')::int > ${rows}
        AND EXISTS (SELECT FROM builds WHERE part = NEW.part)
      ) THEN RETURN NEW; END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER hold BEFORE INSERT OR DELETE ON builds
      FOR EACH ROW EXECUTE FUNCTION hold()`,
  release: "DROP FUNCTION hold CASCADE",
});

/** Runs SQL on the database of a data folder, which another process may have open. */
function run(data: string, sql: string): void {
  const database = new DatabaseSync(join(data, "restante.db"));
  database.exec(`PRAGMA busy_timeout = 600000; ${sql}`);
  database.close();
}

/** Without `rows` no progress of a build is stored. */
export const holdBuilds = (data: string, rows = -1): void => run(data, holdOfSqlite(rows).hold);

export const releaseBuilds = (data: string): void => run(data, holdOfSqlite(0).release);
