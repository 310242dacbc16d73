// Migrates databases of older versions; up to version 6 a collection had a key instead of a part.

import type { TreeWrite } from "../core/position-tree.ts";
import { PositionTreeBuilder } from "../core/position-tree-builder.ts";
import { checksumOf, type StoredResource } from "../core/stored-resource.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import { writeTree } from "./position-tree.ts";
import { type ResourceColumns, resourceColumns } from "./row.ts";
import type { MigrationStep, ReportProgress } from "./step.ts";
import {
  filesByOwner,
  formOfFirstRelease,
  planSetting,
  planSettings,
  resourceIndexes,
  tables,
} from "./tables.ts";
import { moveKeys } from "./upgrade-keys.ts";
import { upgradeWords } from "./upgrade-words.ts";

/**
 * The key of a collection becomes its part, so that feed positions stay valid. `upgrade` contains the
 * parts that the next steps have to go through. From here on, nodes of older versions fail.
 */
const rename: MigrationStep = `
  ALTER TABLE form RENAME TO schema_version;
  ALTER TABLE schema_version RENAME CONSTRAINT form_pkey TO schema_version_pkey;
  ALTER TABLE schema_version RENAME CONSTRAINT form_one_check TO schema_version_one_check;

  ALTER TABLE collections RENAME TO old_collections;
  ALTER TABLE old_collections RENAME CONSTRAINT collections_pkey TO old_collections_pkey;
  ${tables.collections}
  INSERT INTO collections
    SELECT name, key, definition, defined, created FROM old_collections WHERE revision > 0;
  ${tables.heads}
  INSERT INTO heads
    SELECT key, revision, seq, total, updated, shares_date, defined, epoch, now, seen
    FROM old_collections CROSS JOIN key_clock WHERE revision > 0;
  CREATE TABLE upgrade (part bigint PRIMARY KEY, step integer NOT NULL, after bigint NOT NULL);
  INSERT INTO upgrade SELECT part, 0, 0 FROM heads;
  DROP TABLE old_collections, key_clock;

  ALTER TABLE resources RENAME COLUMN collection TO part;
  ALTER TABLE resources RENAME COLUMN parts TO files;
  ${tables.tombstones}
  DROP TABLE holes;
  ${tables.positions}

  ALTER TABLE entries RENAME COLUMN collection TO part;
  DROP TABLE words;
  ${tables.words}
  ALTER TABLE files RENAME COLUMN collection TO part;
  DROP INDEX files_by_key;
  ${tables.idempotency_keys}

  ${tables.store}
  INSERT INTO store
    SELECT true, gen_random_uuid()::text, coalesce(max(epoch), 0) FROM epochs WHERE collection = 0;
  DELETE FROM epochs WHERE collection = 0;
  ALTER TABLE epochs RENAME COLUMN collection TO part;
  ${tables.deleted_parts}

  ${tables.token_uses}
  INSERT INTO token_uses SELECT id, used FROM tokens WHERE used IS NOT NULL;
  UPDATE tokens SET subject = id WHERE subject IS NULL;
  ALTER TABLE tokens ALTER subject SET NOT NULL, DROP COLUMN used;
`;

/** The steps of one part. Each returns where the next transaction continues; undefined when it is done. */
const partSteps: readonly ((
  sql: Sql,
  part: number,
  after: number,
) => Promise<number | undefined>)[] = [moveTombstones, countPositions, addMissingChecksums];

/** Runs one transaction of the first part that is not done. */
async function upgradeParts(sql: Sql, report: ReportProgress): Promise<boolean> {
  const [next] = await rows<readonly [part: number, step: number, after: number]>(sql`
    SELECT part, step, after FROM upgrade WHERE step < ${partSteps.length}::bigint
    ORDER BY part LIMIT 1`);
  if (!next) return true;
  const [part, step, after] = next;
  const last = await partSteps[step]?.(sql, part, after);
  const [newStep, newAfter] = last === undefined ? [step + 1, 0] : [step, last];
  await rows(sql`
    UPDATE upgrade SET step = ${newStep}::bigint, after = ${newAfter}::bigint
    WHERE part = ${part}::bigint`);
  await reportProgress(sql, report);
  return false;
}

async function reportProgress(sql: Sql, report: ReportProgress): Promise<void> {
  const [row] = await rows<readonly [done: number, seqs: number]>(sql`
    SELECT coalesce(sum(CASE
        WHEN step = ${partSteps.length}::bigint THEN heads.seq + 1
        WHEN step = ${partSteps.length - 1}::bigint THEN upgrade.after
        ELSE 0
      END), 0)::bigint, coalesce(sum(heads.seq + 1), 0)::bigint
    FROM upgrade JOIN heads USING (part)`);
  const [done = 0, seqs = 0] = row ?? [];
  report(`migrating the database: ${seqs === 0 ? 100 : Math.floor((100 * done) / seqs)} %`);
}

const rowsPerTransaction = 2_000;
const bytesPerTransaction = 8 * 1024 * 1024;

/** Removed resources had rows without seq and fields. */
async function moveTombstones(sql: Sql, part: number): Promise<number | undefined> {
  const moved = await rows(sql`
    WITH gone AS (
      SELECT id FROM resources WHERE part = ${part}::bigint AND seq IS NULL
      LIMIT ${rowsPerTransaction}::bigint
    ),
    deleted AS (
      DELETE FROM resources USING gone
      WHERE resources.part = ${part}::bigint AND resources.id = gone.id
      RETURNING resources.id, revision, updated
    )
    INSERT INTO tombstones (part, id, revision, removed)
    SELECT ${part}::bigint, id, revision, updated FROM deleted
    RETURNING id`);
  return moved.length === 0 ? undefined : 0;
}

const seqsPerStatement = 50_000;

/** Reads all seqs of the part, which are few bytes, in one transaction. */
async function countPositions(sql: Sql, part: number): Promise<undefined> {
  const [head] = await rows<readonly [seq: number, total: number]>(sql`
    SELECT seq, total FROM heads WHERE part = ${part}::bigint`);
  const [positions = 0, total = 0] = head ?? [];
  if (positions === total) return;
  const tree: TreeWrite[] = [];
  const builder = new PositionTreeBuilder((row) => tree.push(row));
  const save = async () => {
    await allOrFirstError(writeTree(sql, part, tree.splice(0)).map(rows));
  };
  for (let after = 0; ; ) {
    const seqs = await rows<readonly [number]>(sql`
      SELECT seq FROM resources WHERE part = ${part}::bigint AND seq > ${after}::bigint
      ORDER BY seq LIMIT ${seqsPerStatement}::bigint`);
    for (const [seq] of seqs) builder.add(seq - 1);
    await save();
    const last = seqs.at(-1);
    if (!last) break;
    after = last[0];
  }
  builder.finish(positions);
  await save();
}

/** Adds missing checksums. */
async function addMissingChecksums(
  sql: Sql,
  part: number,
  after: number,
): Promise<number | undefined> {
  const found = await readIncomplete(sql, part, after);
  const last = found.at(-1);
  if (!last) return undefined;
  await addChecksums(sql, part, found);
  return last[9];
}

type OldResource = readonly [...ResourceColumns, seq: number];

const storedIn = (row: OldResource): StoredResource => row.slice(0, 8) as unknown as StoredResource;

const readIncomplete = (sql: Sql, part: number, after: number): Promise<readonly OldResource[]> =>
  rows<OldResource>(sql`
    SELECT ${resourceColumns(sql)}, seq
    FROM (
      SELECT *, sum(octet_length(fields)) OVER (ORDER BY seq) - octet_length(fields) AS before
      FROM (
        SELECT * FROM resources
        WHERE part = ${part}::bigint AND seq > ${after}::bigint AND checksum IS NULL
        ORDER BY seq LIMIT ${rowsPerTransaction}::bigint
      ) AS next
    ) AS sized
    WHERE before < ${bytesPerTransaction}::bigint ORDER BY seq`);

const addChecksums = (sql: Sql, part: number, resources: readonly OldResource[]) =>
  rows(sql`
    UPDATE resources SET checksum = next.checksum
    FROM (
      SELECT * FROM unnest(
        ${resources.map((row) => row[9])}::bigint[],
        ${resources.map((row) => checksumOf(storedIn(row)))}::bigint[]
      ) LIMIT ${resources.length}::bigint
    ) AS next (seq, checksum)
    WHERE resources.part = ${part}::bigint AND resources.seq = next.seq`);

/** Builds the keys of the new layout. */
const finish: MigrationStep = `
  DROP TABLE upgrade, kept;
  ALTER TABLE resources
    DROP CONSTRAINT resources_pkey,
    DROP CONSTRAINT resources_collection_seq_key,
    ALTER seq SET NOT NULL,
    ALTER fields SET NOT NULL,
    ALTER checksum SET NOT NULL,
    ADD PRIMARY KEY (part, seq),
    ADD UNIQUE (part, id);
  ALTER TABLE resources
    RENAME CONSTRAINT resources_collection_revision_key TO resources_part_revision_key;
  ${planSettings}
`;

/** Version 11. Writes wait for its end, so all nodes are stopped before. */
async function addTimeIndexes(sql: Sql, report: ReportProgress): Promise<boolean> {
  const statements = [
    `ALTER TABLE heads
       ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0,
       ADD COLUMN IF NOT EXISTS purged bigint NOT NULL DEFAULT 0;
     ALTER TABLE tombstones ADD COLUMN IF NOT EXISTS owner text;
     ${tables.former_owners}
     ${tables.builds}`,
    ...resourceIndexes,
    `UPDATE heads SET bytes = (
       SELECT coalesce(sum(octet_length(fields)), 0) FROM resources WHERE part = heads.part
     )`,
  ];
  for (const [index, statement] of statements.entries()) {
    report(`migrating the database: ${Math.floor((100 * index) / statements.length)} %`);
    await sql.unsafe(statement).simple();
  }
  return true;
}

/** Version 13: the names of the collections that refer to each one. */
const addReferrers: MigrationStep =
  "ALTER TABLE collections ADD COLUMN IF NOT EXISTS referrers text NOT NULL DEFAULT '[]'";

/** Version 14: the names of the roles of each token. */
const addRoles: MigrationStep =
  "ALTER TABLE tokens ADD COLUMN IF NOT EXISTS roles text NOT NULL DEFAULT '[]'";

/** Version 15: the former states of resources. */
const addFormerStates: MigrationStep = `${tables.former_states} ${planSetting("former_states")}`;

/** Version 16: which Restante has written the tables, and which ones can open them. */
const addWriter: MigrationStep = `
  ALTER TABLE schema_version
    ADD COLUMN IF NOT EXISTS restante text,
    ADD COLUMN IF NOT EXISTS oldest text;
  ${formOfFirstRelease}
`;

/** Version 17: the owners and sizes of files. A list that is damaged counts nothing. */
const sizeFiles: MigrationStep = `
  ALTER TABLE files
    ADD COLUMN IF NOT EXISTS owner text COLLATE "C",
    ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0;
  CREATE OR REPLACE FUNCTION readable_files(files text) RETURNS json LANGUAGE plpgsql AS $$
  BEGIN
    RETURN CASE json_typeof(files::json) WHEN 'array' THEN files ELSE '[]' END;
  EXCEPTION WHEN data_exception THEN
    RETURN '[]';
  END $$;
  UPDATE files SET owner = held.owner, bytes = held.bytes
  FROM (
    SELECT part, resources.owner, file ->> 'key' AS key,
      CASE WHEN file ->> 'size' ~ '^[0-9]{1,18}$' THEN (file ->> 'size')::bigint ELSE 0 END AS bytes
    FROM resources, json_array_elements(readable_files(resources.files)) AS file
    WHERE resources.files IS NOT NULL
  ) AS held
  WHERE files.part = held.part AND files.key = held.key;
  DROP FUNCTION readable_files(text);
  ${filesByOwner}
  ${formOfFirstRelease}
`;

export const upgradeSteps: readonly MigrationStep[] = [
  ...[rename, moveKeys, upgradeParts, finish],
  addTimeIndexes,
  upgradeWords,
  addReferrers,
  addRoles,
  addFormerStates,
  addWriter,
  sizeFiles,
];
