// Loads rows of another store into parts that nobody sees, and publishes them in one transaction.

import { type CollectionWrite, type EngineWrites, noPartWrites, noWrites } from "../core/writes.ts";
import { type EpochRow, type LoadedRows, PartLoader } from "../transfer/part-loader.ts";
import { correctReferrers, replacedBy } from "../transfer/publication.ts";
import {
  CannotLoad,
  type Loader,
  type PartLoad,
  type Publication,
  type SourceCollection,
} from "../transfer/transfer.ts";
import { listCollectionRows } from "./collections.ts";
import { Connection, rows, type Sql } from "./connection.ts";
import { isConflict } from "./errors.ts";
import { prepare } from "./open.ts";
import { saveBuild } from "./save-build.ts";
import { begin, commit } from "./transaction.ts";
import { sendWrites } from "./writes.ts";

export interface LoaderOptions {
  readonly url: string;
  readonly schema?: string;
}

/**
 * A part counts as deleted until it is published, so that nodes delete its rows when this process ends
 * before. Meanwhile a connection holds a lock, by which nodes leave the part alone.
 */
export class PostgresLoader implements Loader {
  readonly #schema: string;
  readonly #holder: Connection;
  readonly #writer: Connection;
  readonly #loads: PartLoader[] = [];

  private constructor(schema: string, holder: Connection, writer: Connection) {
    this.#schema = schema;
    this.#holder = holder;
    this.#writer = writer;
  }

  /** Creates the tables when needed. */
  static async open({ url, schema = "restante" }: LoaderOptions): Promise<PostgresLoader> {
    const options = { url, schema, deadlineMs: 0 };
    await prepare(options, () => undefined);
    const holder = await Connection.open(options);
    try {
      await holder.run(begin);
      const writer = await Connection.open(options);
      // The commit of the publication syncs what was committed before it.
      await writer.run((sql) => rows(sql`SELECT set_config('synchronous_commit', 'off', false)`));
      return new PostgresLoader(schema, holder, writer);
    } catch (error) {
      holder.destroy();
      throw error;
    }
  }

  /** Whether the store has neither collections nor tokens. */
  isEmpty(): Promise<boolean> {
    return this.#writer.run(async (sql) => {
      const found = await rows(sql`
        (SELECT 1::bigint FROM collections LIMIT 1) UNION ALL (SELECT 1 FROM tokens LIMIT 1)`);
      return found.length === 0;
    });
  }

  async begin(collection: SourceCollection): Promise<PartLoad> {
    const { part, head } = collection;
    const load = new PartLoader(collection);
    await this.#hold(part);
    return {
      add: (table, rows) => this.#write(part, load.add(table, rows)),
      finish: async () => {
        const writes = noPartWrites(part, head, false);
        await this.#write(part, { writes, epochs: [], tree: load.finish() });
        this.#loads.push(load);
      },
    };
  }

  async publish(publication: Publication): Promise<void> {
    const writes = await this.#holder.run((sql) => this.#replace(sql, publication));
    try {
      await commit(this.#holder, (sql) => [
        ...sendWrites(sql, writes, new Map()),
        ...this.#loads.flatMap((load) => publishPart(sql, load)),
      ]);
    } catch (error) {
      if (!isConflict(error)) throw error;
      throw new CannotLoad("a collection with the same name was created meanwhile");
    }
    const channel = `restante_${this.#schema}`;
    // Without the notification nodes notice it a second later.
    await this.#writer
      .run((sql) => rows(sql`SELECT pg_notify(${channel}, 'cached')`))
      .catch(() => undefined);
  }

  async close(): Promise<void> {
    await Promise.all([this.#holder.close(), this.#writer.close()]);
  }

  /** A node may delete the row before it is locked, because the part has no rows yet. */
  async #hold(part: number): Promise<void> {
    for (;;) {
      await this.#writer.run((sql) =>
        rows(sql`INSERT INTO deleted_parts (part) VALUES (${part}::bigint) ON CONFLICT DO NOTHING`),
      );
      const locked = await this.#holder.run((sql) =>
        rows(sql`SELECT part FROM deleted_parts WHERE part = ${part}::bigint FOR UPDATE`),
      );
      if (locked.length > 0) return;
    }
  }

  async #write(part: number, { writes, tree, epochs }: LoadedRows): Promise<void> {
    await commit(this.#writer, (sql) => [
      begin(sql),
      ...sendWrites(sql, { ...noWrites, parts: [writes] }, new Map([[part, tree]])),
      ...(epochs.length > 0 ? [insertEpochs(sql, part, epochs)] : []),
    ]);
  }

  /** Waits for the writes in progress. Deletes what is replaced, and returns the rows to write. */
  async #replace(sql: Sql, publication: Publication): Promise<EngineWrites> {
    await rows(sql`LOCK TABLE heads IN EXCLUSIVE MODE`);
    const loaded = this.#loads.map(({ collection }) => collection);
    const existing = await listCollectionRows(sql);
    const deletedCollections = replacedBy(existing, loaded, publication);
    const { whole } = publication;
    if (whole) {
      await rows(sql`DELETE FROM tokens`);
      await rows(sql`DELETE FROM token_uses`);
      await rows(sql`UPDATE store SET id = ${whole.store.id} WHERE one`);
    }
    const epoch = Math.max(whole?.store.epoch ?? 0, ...loaded.map(({ head }) => head.epoch));
    await rows(sql`UPDATE store SET epoch = greatest(epoch, ${epoch}::bigint) WHERE one`);
    const kept = existing
      .filter((row) => !deletedCollections.includes(row))
      .map(({ name, part, rules }) => ({ name, part, referrers: [], ...rules }));
    const corrected = new Map(
      whole ? [] : correctReferrers([...loaded, ...kept]).map(([{ name }, names]) => [name, names]),
    );
    const changed = await renewVersions(
      sql,
      kept.filter(({ name }) => corrected.has(name)),
    );
    const collections = [...loaded, ...changed].map(({ name, ...each }) => ({
      name,
      part: each.part,
      definition: each.definition,
      version: each.version,
      createdAt: each.createdAt,
      build: undefined,
      isDefined: each.createdAt !== undefined,
      referrers: corrected.get(name) ?? each.referrers,
    }));
    const parts = loaded.map(({ part, head }) => noPartWrites(part, head, true));
    return { ...noWrites, collections, parts, deletedCollections, tokens: whole?.tokens ?? [] };
  }
}

type ChangedCollection = Omit<CollectionWrite, "build" | "isDefined">;

/** The version in a head shows that a cached row is outdated. */
async function renewVersions(
  sql: Sql,
  collections: readonly Omit<ChangedCollection, "createdAt">[],
): Promise<readonly ChangedCollection[]> {
  const renewed = collections.map((each) => ({
    ...each,
    version: each.version + 1,
    createdAt: undefined,
  }));
  for (const { part, version } of renewed)
    await rows(sql`UPDATE heads SET version = ${version}::bigint WHERE part = ${part}::bigint`);
  return renewed;
}

function publishPart(sql: Sql, { collection, build }: PartLoader): readonly Promise<unknown>[] {
  const { part } = collection;
  return [
    rows(sql`DELETE FROM deleted_parts WHERE part = ${part}::bigint`),
    ...saveState(sql, { ...collection, build }),
  ];
}

/** Writes what a new collection does not have. */
export const saveState = (
  sql: Sql,
  { part, purged, build }: SourceCollection,
): readonly Promise<unknown>[] => [
  rows(sql`UPDATE heads SET purged = ${purged}::bigint WHERE part = ${part}::bigint`),
  rows(saveBuild(sql, part, build)),
];

const insertEpochs = (
  sql: Sql,
  part: number,
  epochs: readonly EpochRow[],
): Promise<readonly unknown[]> =>
  rows(sql`
    INSERT INTO epochs (part, epoch, last)
    SELECT ${part}::bigint, * FROM unnest(
      ${epochs.map(([epoch]) => epoch)}::bigint[], ${epochs.map(([, last]) => last)}::bigint[]
    )`);
