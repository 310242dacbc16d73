// A store in memory on the core: it looks state up in maps, and writes the rows that the core returns.

import assert from "node:assert/strict";
import type { IdempotencyKey } from "../../../src/model/idempotency-key.ts";
import {
  emptyIndexPlan,
  IndexedContent,
  type IndexPlan,
  indexPlanOf,
  uniqueKeysIn,
} from "../../../src/model/query/index-plan.ts";
import { applyChanges, stepsOf } from "../../../src/store/core/apply.ts";
import { collectIndexRows, noIndexWrites } from "../../../src/store/core/index-rows.ts";
import { type ReadRow, removePositions } from "../../../src/store/core/position-tree.ts";
import type { Head, KeyRow, ResourceRow, Tombstone } from "../../../src/store/core/rows.ts";
import type { DirectInsert, StateBefore } from "../../../src/store/core/state.ts";
import { resourceIn } from "../../../src/store/core/stored-resource.ts";
import type { CollectionWrite, EngineWrites, PartWrites } from "../../../src/store/core/writes.ts";
import type { Change, Outcome } from "../../../src/store/store.ts";

/** The rows of one part. */
export class Part {
  head: Head;
  plan: IndexPlan = emptyIndexPlan;
  definition = "{}";
  referrers: readonly string[] = [];
  readonly resources = new Map<number, ResourceRow>();
  readonly tombstones = new Map<string, Tombstone>();
  readonly entries = new Set<string>();
  readonly words = new Map<string, number>();
  readonly files = new Set<string>();
  readonly positions = new Map<string, readonly number[]>();
  readonly keys = new Map<string, KeyRow>();

  constructor(head: Head) {
    this.head = head;
  }

  readonly readRow: ReadRow = ({ level, row }) => this.positions.get(`${level}.${row}`);

  byId(id: string): ResourceRow | undefined {
    return [...this.resources.values()].find((row) => row.id === id);
  }
}

export class MemoryStore {
  readonly collections = new Map<string, number>();
  readonly parts = new Map<number, Part>();
  /** How many resources were inserted without a lookup. */
  directInserts = 0;
  readonly #tokens = new Map<string, string>();
  readonly #canInsertDirectly: boolean;

  constructor(canInsertDirectly: boolean) {
    this.#canInsertDirectly = canInsertDirectly;
  }

  commit(changes: readonly Change[]): readonly Outcome[] {
    return stepsOf(changes).flatMap((step) => this.#applyStep(step));
  }

  partOf(name: string): Part | undefined {
    const part = this.collections.get(name);
    return part === undefined ? undefined : this.parts.get(part);
  }

  #applyStep(step: readonly Change[]): readonly Outcome[] {
    const { outcomes, writes } = applyChanges(step, this.#state());
    for (const write of writes.collections) {
      const field = this.#rebuild(write);
      if (field !== undefined) return [{ kind: "conflict", field }];
    }
    this.#write(writes);
    return outcomes;
  }

  #state(): StateBefore {
    const part = (number: number) => this.parts.get(number);
    const directInsert: DirectInsert = {
      insert: (number, row) => {
        const rows = part(number);
        if (!rows || rows.byId(row.id)) return false;
        assert.ok(!rows.resources.has(row.seq));
        rows.resources.set(row.seq, row);
        this.directInserts++;
        return true;
      },
      insertNew: (number, row) => assert.ok(directInsert.insert(number, row)),
      undo: (number, seq) => assert.ok(part(number)?.resources.delete(seq)),
    };
    return {
      collection: (name) => {
        const number = this.collections.get(name);
        const found = number === undefined ? undefined : part(number);
        const { definition, plan } = found ?? {};
        const rules = { definition: definition ?? "{}", build: undefined };
        return (
          found &&
          plan && {
            name,
            part: number ?? 0,
            head: found.head,
            plan,
            referrers: found.referrers,
            ...rules,
          }
        );
      },
      resource: (number, id, needsFields) => {
        const row = part(number)?.byId(id);
        return row && { ...row, fields: needsFields ? row.fields : null };
      },
      removal: (number, id) => part(number)?.tombstones.get(id),
      holders: (number, { field, key }, most) => {
        const prefix = `${field}\0${key}\0`;
        return [...(part(number)?.entries ?? [])]
          .filter((each) => each.startsWith(prefix))
          .map((entry) => Number(entry.slice(prefix.length)))
          .slice(0, most);
      },
      key: (number, key) => part(number)?.keys.get(nameOf(key)),
      hasToken: (id) => this.#tokens.has(id),
      isTokenRevoked: (id) => !this.#tokens.has(id),
      hasTokenHash: (hash) => [...this.#tokens.values()].includes(hash),
      writerEpoch: () => 1,
      ...(this.#canInsertDirectly && { directInsert }),
    };
  }

  /** Lets the index rows of existing resources follow a definition, or returns a field with duplicates. */
  #rebuild({ part: number, definition }: CollectionWrite): string | undefined {
    const part = this.parts.get(number);
    if (!part) return undefined;
    const after = indexPlanOf(definition);
    const writes = noIndexWrites();
    for (const row of part.resources.values())
      collectIndexRows(writes, after, undefined, { seq: row.seq, resource: resourceOf(row) });
    const contents = [...part.resources.values()].map((row) => new IndexedContent(resourceOf(row)));
    const duplicate = after.indexes.find((index) => {
      const keys = contents.flatMap((content) => uniqueKeysIn(index, content));
      return index.isUnique && new Set(keys).size < keys.length;
    });
    if (duplicate) return duplicate.name;
    part.entries.clear();
    part.words.clear();
    writeIndexRows(part, writes);
    part.plan = after;
    part.definition = definition;
    return undefined;
  }

  #write({ parts, collections, deletedCollections, tokens }: EngineWrites): void {
    for (const { name, part } of deletedCollections) {
      assert.equal(this.collections.get(name), part);
      this.collections.delete(name);
      this.parts.delete(part);
    }
    for (const { name, part, createdAt } of collections)
      if (createdAt !== undefined) this.collections.set(name, part);
    for (const write of parts) this.#writePart(write);
    for (const { part, definition, referrers } of collections) {
      const rows = this.parts.get(part);
      if (!rows) continue;
      rows.referrers = referrers;
      rows.plan = indexPlanOf(definition);
      rows.definition = definition;
    }
    for (const { id, hash } of tokens) this.#tokens.set(id, hash);
  }

  #writePart(write: PartWrites): void {
    assert.equal(write.isNew, !this.parts.has(write.part));
    const part = this.parts.get(write.part) ?? new Part(write.head);
    this.parts.set(write.part, part);
    part.head = write.head;
    for (const seq of write.deleted) assert.ok(part.resources.delete(seq));
    for (const row of write.updated) {
      assert.ok(part.resources.has(row.seq));
      part.resources.set(row.seq, row);
    }
    for (const row of write.inserted) {
      assert.ok(!part.resources.has(row.seq) && !part.byId(row.id));
      part.resources.set(row.seq, row);
    }
    for (const id of write.deletedTombstones) assert.ok(part.tombstones.delete(id));
    for (const tombstone of write.tombstones) part.tombstones.set(tombstone.id, tombstone);
    writeIndexRows(part, write);
    for (const key of write.deletedFiles) assert.ok(part.files.delete(key));
    for (const { key } of write.files) part.files.add(key);
    for (const { level, row, alive } of removePositions(part.readRow, write.removedPositions))
      if (alive) part.positions.set(`${level}.${row}`, alive);
      else part.positions.delete(`${level}.${row}`);
    for (const key of write.keys) part.keys.set(nameOf(key), key);
  }
}

function writeIndexRows(part: Part, writes: ReturnType<typeof noIndexWrites>): void {
  const entryOf = ({ field, key, seq }: (typeof writes.entries)[number]) =>
    `${field}\0${key}\0${seq}`;
  for (const entry of writes.deletedEntries) assert.ok(part.entries.delete(entryOf(entry)));
  for (const entry of writes.entries) {
    assert.ok(!part.entries.has(entryOf(entry)));
    part.entries.add(entryOf(entry));
  }
  for (const { word, seq } of writes.deletedWords) assert.ok(part.words.delete(`${word} ${seq}`));
  for (const { word, seq, weight } of writes.words) part.words.set(`${word} ${seq}`, weight);
}

export const resourceOf = (row: ResourceRow) =>
  resourceIn([
    ...([row.id, row.revision, row.createdAt, row.updatedAt] as const),
    ...([row.fields, row.owner, row.files, row.sharesDate] as const),
  ]);

const nameOf = ({ owner, key }: Pick<IdempotencyKey, "owner" | "key">): string =>
  JSON.stringify([owner, key]);
