// A database of a made-up older version, and the steps that migrate it.

import { rows } from "../../../src/store/postgres/connection.ts";
import { type MigrationStep, schemaVersion } from "../../../src/store/postgres/schema.ts";
import { create, define, put, token } from "../contract/change-helpers.ts";
import type { TestDatabase } from "./test-databases.ts";

export const resources = 5;

const addColumn: MigrationStep = "ALTER TABLE tombstones ADD COLUMN owner text";

/** Gives back one field in each transaction. */
const fillFields: MigrationStep = async (sql, report) => {
  const filled = await rows(sql`
    UPDATE resources SET fields = '{"n":' || made_up || '}', made_up = NULL
    WHERE (part, seq) = (SELECT part, seq FROM resources WHERE made_up IS NOT NULL LIMIT 1)
    RETURNING seq`);
  if (filled.length > 0) {
    report(`filled ${filled[0]?.[0]}`);
    return false;
  }
  await sql.unsafe("ALTER TABLE resources DROP COLUMN made_up").simple();
  return true;
};

/** Lead from the made-up version to the newest. */
export const steps: readonly MigrationStep[] = [addColumn, fillFields];

export const olderVersion = schemaVersion - steps.length;

/** Makes a store with some of everything, and brings it to the made-up older version. */
export async function makeOlder(testDatabase: TestDatabase): Promise<void> {
  const store = await testDatabase.open();
  await store.commit([
    create(),
    define('{"indexed":["n"]}'),
    ...Array.from({ length: resources }, (_, n) => put(`id-${n}`, { fields: `{"n":${n}}` })),
    { kind: "create-token", token: token("t") },
  ]);
  await store.close();
  await testDatabase.admin((sql) =>
    sql
      .unsafe(
        `ALTER TABLE tombstones DROP COLUMN owner;
         ALTER TABLE resources ADD COLUMN made_up bigint;
         UPDATE resources SET made_up = (fields::json ->> 'n')::bigint, fields = '';
         UPDATE schema_version SET version = ${olderVersion}`,
      )
      .simple(),
  );
}
