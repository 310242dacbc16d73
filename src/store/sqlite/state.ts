// Looks up the stored state that the changes of a batch need, when they need it.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { IndexEntry, IndexPlan } from "../../model/query/index-plan.ts";
import { nextEpoch } from "../core/epochs.ts";
import type { FileQuotas, StoredFileUse } from "../core/file-use.ts";
import { type IndexBuild, plansOf } from "../core/index-build.ts";
import type { ResourceRow } from "../core/rows.ts";
import type {
  DirectInsert,
  ResourceState,
  StateBefore,
  StoredCollection,
  StoredKey,
  StoredRemoval,
} from "../core/state.ts";
import { BuildReader } from "./builds.ts";
import { CollectionRows, HeadReader } from "./collections.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { FileReferenceReader } from "./file-references.ts";
import { ResourceWriter } from "./resource-writer.ts";

type StateRow = readonly [
  ...(readonly [seq: number, revision: number, created: number, updated: number]),
  ...(readonly [owner: string | null, files: string | null, bytes: number, fields: string | null]),
  ...(readonly [sharesDate: number, checksum: number]),
];

/** A collection of an earlier batch. The version in its head shows whether it is still the same. */
interface KnownCollection {
  readonly part: number;
  readonly version: number;
  readonly definition: string;
  readonly build: IndexBuild | undefined;
  readonly plan: IndexPlan;
  readonly referrers: readonly string[];
}

/** When more collections are known they are forgotten, which bounds the memory use. */
const maxKnown = 10_000;

export class StoredState implements StateBefore {
  readonly directInsert: DirectInserter;
  readonly fileUse: StoredFileUse | undefined;
  readonly #collections: CollectionRows;
  readonly #heads: HeadReader;
  readonly #builds: BuildReader;
  readonly #resource: PreparedQuery<StateRow>;
  readonly #resourceWithFields: PreparedQuery<StateRow>;
  readonly #removal: PreparedQuery<readonly [removedAt: number, owner: string | null]>;
  readonly #lastRemoved: PreparedQuery<readonly [id: string]>;
  readonly #holders: PreparedQuery<readonly [seq: number]>;
  readonly #key: PreparedQuery<readonly [fingerprint: string, outcomes: string, expiresAt: number]>;
  readonly #token: PreparedQuery<readonly [1]>;
  readonly #currentToken: PreparedQuery<readonly [1]>;
  readonly #tokenHash: PreparedQuery<readonly [1]>;
  readonly #store: PreparedQuery<readonly [epoch: number, commits: number, tokens: number]>;
  readonly #saveEpoch: PreparedQuery<never>;
  readonly #known = new Map<string, KnownCollection>();
  /** The greatest id with a tombstone, by part. */
  readonly #lastRemovedIds = new Map<number, string>();
  #isEpochBegun = false;
  #writerEpoch = 0;

  constructor(connection: Connection, fileQuotas?: FileQuotas) {
    const files = fileQuotas && new FileReferenceReader(connection);
    this.fileUse = files && { quotas: fileQuotas, bytes: (owner) => files.bytes(owner) };
    this.#collections = new CollectionRows(connection);
    this.#heads = new HeadReader(connection);
    this.#builds = new BuildReader(connection);
    const resource = (fields: string): PreparedQuery<StateRow> =>
      connection.query(
        `SELECT seq, revision, created, updated, owner, files, octet_length(fields), ${fields},
           shares_date, checksum
         FROM resources WHERE part = ? AND id = ?`,
      );
    this.#resource = resource("NULL");
    this.#resourceWithFields = resource("fields");
    this.#removal = connection.query(
      "SELECT removed, owner FROM tombstones WHERE part = ? AND id = ?",
    );
    this.#lastRemoved = connection.query(
      "SELECT id FROM tombstones WHERE part = ? ORDER BY id DESC LIMIT 1",
    );
    this.#holders = connection.query(
      "SELECT seq FROM entries WHERE part = ? AND field = ? AND key = ? LIMIT ?",
    );
    this.#key = connection.query(
      `SELECT fingerprint, outcomes, expires FROM idempotency_keys
       WHERE part = ? AND owner = ? AND key = ?`,
    );
    this.#token = connection.query("SELECT 1 FROM tokens WHERE id = ?");
    this.#currentToken = connection.query("SELECT 1 FROM tokens WHERE id = ? AND revoked IS NULL");
    this.#tokenHash = connection.query("SELECT 1 FROM tokens WHERE hash = ?");
    this.#store = connection.query("SELECT epoch, commits, tokens FROM store");
    this.#saveEpoch = connection.query("UPDATE store SET epoch = ?");
    this.directInsert = new DirectInserter(new ResourceWriter(connection));
  }

  /** Called before each step of a batch: the last one has changed the state. */
  reset(): void {
    this.#lastRemovedIds.clear();
  }

  collection(name: string): StoredCollection | undefined {
    const known = this.#known.get(name);
    const head = known && this.#heads.find(known.part);
    if (head && head.version === known?.version) {
      // Its state changes with every step.
      const build = known.build && this.#builds.find(known.part);
      return { ...known, build, name, head };
    }
    return this.#load(name);
  }

  resource(part: number, id: string, needsFields: boolean): ResourceState | undefined {
    this.directInsert.flush();
    const row = (needsFields ? this.#resourceWithFields : this.#resource).one(part, id);
    if (!row) return undefined;
    const [seq, revision, createdAt, updatedAt, owner, files, bytes, fields] = row;
    const [, , , , , , , , sharesDate, checksum] = row;
    const times = { createdAt, updatedAt };
    return { seq, revision, ...times, bytes, owner, files, fields, sharesDate, checksum };
  }

  /** Generated ids only increase (all ids are ASCII), so a new one is greater than all removed ones. */
  removal(part: number, id: string): StoredRemoval | undefined {
    let last = this.#lastRemovedIds.get(part);
    if (last === undefined) {
      last = this.#lastRemoved.one(part)?.[0] ?? "";
      this.#lastRemovedIds.set(part, last);
    }
    const row = id > last ? undefined : this.#removal.one(part, id);
    return row && { removedAt: row[0], owner: row[1] };
  }

  holders(part: number, { field, key }: IndexEntry, most: number): readonly number[] {
    return this.#holders.all(part, field, key, most).map(([seq]) => seq);
  }

  key(part: number, { owner, key }: IdempotencyKey): StoredKey | undefined {
    const row = this.#key.one(part, owner, key);
    if (!row) return undefined;
    const [fingerprint, outcomes, expiresAt] = row;
    return { fingerprint, outcomes, expiresAt };
  }

  hasToken(id: string): boolean {
    return this.#token.one(id) !== undefined;
  }

  isTokenRevoked(id: string): boolean {
    return this.#currentToken.one(id) === undefined;
  }

  hasTokenHash(hash: string): boolean {
    return this.#tokenHash.one(hash) !== undefined;
  }

  /** Called at the beginning of a transaction. Returns the number of the last commit, and of the last one with tokens. */
  begin(): { readonly commits: number; readonly tokens: number } {
    const [epoch, commits, tokens] = this.#store.one() ?? [0, 0, 0];
    this.#writerEpoch = epoch;
    return { commits, tokens };
  }

  /** Begins an epoch with the first write. Another process can begin a later one. */
  writerEpoch(): number {
    if (this.#isEpochBegun) return this.#writerEpoch;
    this.#isEpochBegun = true;
    this.#writerEpoch = nextEpoch(this.#writerEpoch);
    this.#saveEpoch.run(this.#writerEpoch);
    return this.#writerEpoch;
  }

  #load(name: string): StoredCollection | undefined {
    const row = this.#collections.find(name);
    const head = row && this.#heads.find(row.part);
    if (!head) return undefined;
    const { part, version, definition, referrers } = row;
    const build = this.#builds.find(part);
    const { write: plan } = plansOf(definition, build);
    const known = { part, version, definition, build, plan, referrers };
    if (this.#known.size === maxKnown) this.#known.clear();
    this.#known.set(name, known);
    return { ...known, name, head };
  }
}

class DirectInserter implements DirectInsert {
  readonly #writer: ResourceWriter;
  /** The rows that wait, all of one part. */
  #part = 0;
  #waiting: ResourceRow[] = [];

  constructor(writer: ResourceWriter) {
    this.#writer = writer;
  }

  insert(part: number, row: ResourceRow): boolean {
    this.flush();
    return this.#writer.insert(part, row);
  }

  insertNew(part: number, row: ResourceRow): void {
    if (part !== this.#part) this.flush();
    this.#part = part;
    this.#waiting.push(row);
  }

  undo(part: number, seq: number): void {
    this.flush();
    this.#writer.delete(part, seq);
  }

  /** Must be called before resources are read, and before the commit. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const rows = this.#waiting;
    this.#waiting = [];
    this.#writer.insertAll(this.#part, rows);
  }
}
