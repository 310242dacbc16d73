// Deletes the rows that are traces of what is erased, inside the transaction of the erasure.

import { withoutClashes } from "../core/index-build.ts";
import type { ErasedTraces } from "../core/traces.ts";
import type { EngineWrites } from "../core/writes.ts";
import type { ErasedRows } from "../erasure.ts";
import { BuildReader, BuildWriter } from "./builds.ts";
import { type CollectionRow, CollectionRows } from "./collections.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

type RevisionRow = readonly [revision: number];

export class TraceEraser {
  readonly #collections: CollectionRows;
  readonly #builds: BuildReader;
  readonly #buildWriter: BuildWriter;
  readonly #deleteTombstone: PreparedQuery<RevisionRow>;
  readonly #deleteTombstonesOf: PreparedQuery<RevisionRow>;
  readonly #formerOwners: PreparedQuery<readonly [revision: number, id: string, owner: string]>;
  readonly #deleteFormerOwner: PreparedQuery<never>;
  readonly #formerStates: PreparedQuery<readonly [revision: number, id: string, state: string]>;
  readonly #deleteFormerState: PreparedQuery<never>;
  readonly #keys: PreparedQuery<readonly [owner: string, key: string, outcomes: string]>;
  readonly #deleteKey: PreparedQuery<never>;
  readonly #savePurged: PreparedQuery<never>;
  readonly #tokens: PreparedQuery<readonly [id: string]>;
  readonly #deleteToken: PreparedQuery<never>;
  readonly #deleteUse: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#collections = new CollectionRows(connection);
    this.#builds = new BuildReader(connection);
    this.#buildWriter = new BuildWriter(connection);
    this.#deleteTombstone = connection.query(
      "DELETE FROM tombstones WHERE part = ? AND id = ? RETURNING revision",
    );
    this.#deleteTombstonesOf = connection.query(
      "DELETE FROM tombstones WHERE part = ? AND owner = ? RETURNING revision",
    );
    this.#formerOwners = connection.query(
      "SELECT revision, id, owner FROM former_owners WHERE part = ?",
    );
    this.#deleteFormerOwner = connection.query(
      "DELETE FROM former_owners WHERE part = ? AND revision = ?",
    );
    this.#formerStates = connection.query(
      "SELECT revision, id, state FROM former_states WHERE part = ?",
    );
    this.#deleteFormerState = connection.query(
      "DELETE FROM former_states WHERE part = ? AND revision = ?",
    );
    this.#keys = connection.query(
      "SELECT owner, key, outcomes FROM idempotency_keys WHERE part = ?",
    );
    this.#deleteKey = connection.query(
      "DELETE FROM idempotency_keys WHERE part = ? AND owner = ? AND key = ?",
    );
    this.#savePurged = connection.query(
      "UPDATE heads SET purged = ?2 WHERE part = ?1 AND purged < ?2",
    );
    this.#tokens = connection.query("SELECT id FROM tokens WHERE subject = ?");
    this.#deleteToken = connection.query("DELETE FROM tokens WHERE id = ?");
    this.#deleteUse = connection.query("DELETE FROM token_uses WHERE id = ?");
  }

  /** Returns the ids of the subject's tokens. */
  deleteTokens(subject: string): readonly string[] {
    const ids = this.#tokens.all(subject).map(([id]) => id);
    for (const id of ids) {
      this.#deleteToken.run(id);
      this.#deleteUse.run(id);
    }
    return ids;
  }

  /** `writes` are those of the erasure. */
  erase(traces: ErasedTraces, { parts }: EngineWrites): readonly ErasedRows[] {
    const written = new Map(parts.map((part) => [part.part, part]));
    return this.#collections.all().map((row): ErasedRows => {
      const { deleted = [], head } = written.get(row.part) ?? {};
      const removals = this.#deleteTombstones(row, traces);
      const former = traces.isAnyIn(row.name) ? this.#deleteFormer(row, traces) : [];
      const last = [...removals, ...former].reduce(greater, head?.revision ?? 0);
      this.#savePurged.run(row.part, last);
      if (traces.isAnyIn(row.name)) this.#deleteClashes(row, traces);
      return {
        collection: row.name,
        resources: deleted.length,
        removals: removals.length,
        formerStates: former.length,
        keys: this.#deleteKeys(row, traces),
      };
    });
  }

  #deleteTombstones({ part, name }: CollectionRow, traces: ErasedTraces): readonly number[] {
    const ofSubject =
      traces.subject === undefined ? [] : this.#deleteTombstonesOf.all(part, traces.subject);
    const named = [...traces.idsIn(name)].flatMap((id) => this.#deleteTombstone.all(part, id));
    return [...ofSubject, ...named].map(([revision]) => revision);
  }

  #deleteFormer({ part, name }: CollectionRow, traces: ErasedTraces): readonly number[] {
    const owners: number[] = [];
    for (const [revision, id, owner] of this.#formerOwners.each(part))
      if (traces.isFormerOwner(name, id, owner)) owners.push(revision);
    const states: number[] = [];
    for (const [revision, id, state] of this.#formerStates.each(part))
      if (traces.isFormerState(name, id, state)) states.push(revision);
    for (const revision of owners) this.#deleteFormerOwner.run(part, revision);
    for (const revision of states) this.#deleteFormerState.run(part, revision);
    return [...owners, ...states];
  }

  #deleteKeys({ part }: CollectionRow, traces: ErasedTraces): number {
    const found: (readonly [owner: string, key: string])[] = [];
    for (const [owner, key, outcomes] of this.#keys.each(part))
      if (traces.isKey(owner, outcomes)) found.push([owner, key]);
    for (const [owner, key] of found) this.#deleteKey.run(part, owner, key);
    return found.length;
  }

  /** A build that is done names resources that have the same values. */
  #deleteClashes({ part, name }: CollectionRow, traces: ErasedTraces): void {
    const build = this.#builds.find(part);
    const kept = build && withoutClashes(build, traces.idsIn(name));
    if (kept !== build) this.#buildWriter.save(part, kept);
  }
}

const greater = (one: number, other: number): number => Math.max(one, other);
