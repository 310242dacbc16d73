// Erases the stored outcomes of Idempotency-Keys whose resources were deleted, in small steps.

import { decodeOutcomes, erasedText, isAnyDeleted } from "../core/stored-outcomes.ts";
import { CollectionRows } from "./collections.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

type KeyOutcomes = readonly [owner: string, key: string, outcomes: string];

/** The size of a step; it delays a commit by a few milliseconds at most. */
const keysPerStep = 200;
const partsPerStep = 500;

export function* eraseKeys(connection: Connection): Generator<void> {
  const keys = new KeyEraser(connection);
  const parts = new CollectionRows(connection).all().map(({ part }) => part);
  for (const [index, part] of parts.entries()) {
    yield* keys.eraseIn(part);
    if ((index + 1) % partsPerStep === 0) yield;
  }
}

class KeyEraser {
  readonly #connection: Connection;
  readonly #collections: CollectionRows;
  readonly #some: PreparedQuery<KeyOutcomes>;
  readonly #erase: PreparedQuery<never>;
  readonly #created: PreparedQuery<readonly [created: number]>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#collections = new CollectionRows(connection);
    this.#some = connection.query(
      `SELECT owner, key, outcomes FROM idempotency_keys
       WHERE part = ? AND (owner, key) > (?, ?) AND outcomes <> ?
       ORDER BY owner, key LIMIT ${keysPerStep}`,
    );
    this.#erase = connection.query(
      "UPDATE idempotency_keys SET outcomes = ? WHERE part = ? AND owner = ? AND key = ?",
    );
    this.#created = connection.query("SELECT created FROM resources WHERE part = ? AND id = ?");
  }

  *eraseIn(part: number): Generator<void> {
    for (let last: readonly [owner: string, key: string] = ["", ""]; ; ) {
      const rows = this.#some.all(part, ...last, erasedText);
      const outdated = rows.filter(([, , outcomes]) => this.#isAnyDeleted(outcomes));
      if (outdated.length > 0)
        this.#connection.transact(() => {
          for (const [owner, key] of outdated) this.#erase.run(erasedText, part, owner, key);
        });
      if (rows.length < keysPerStep) return;
      const [owner, key] = rows.at(-1) ?? last;
      last = [owner, key];
      yield;
    }
  }

  #isAnyDeleted(outcomes: string): boolean {
    return isAnyDeleted(decodeOutcomes(outcomes)?.resources, (name, id) => {
      const part = this.#collections.find(name)?.part;
      return part === undefined ? undefined : this.#created.one(part, id)?.[0];
    });
  }
}
