// Applies atomic changes: all or none, and only once per Idempotency-Key.

import { encodeOutcomes, isAnyDeleted, storedResources } from "../core/stored-outcomes.ts";
import type { Put, Remove } from "../store.ts";
import type { OpenCollections } from "./collections.ts";
import type { Connection, Query } from "./connection.ts";
import { IdempotencyKeys } from "./idempotency.ts";
import {
  type AtomicChange,
  type AtomicResult,
  type ChangeResult,
  outcomeOf,
} from "./message-codec.ts";

/** The result of the atomic change, then the results of its changes, or of the one that failed. */
export type AtomicResults = readonly [AtomicResult, ...ChangeResult[]];

type Changes = readonly (Put | Remove)[];

const doneKinds: ReadonlySet<ChangeResult[0]> = new Set(["created", "replaced", "removed"]);

export class AtomicWriter {
  readonly #collections: OpenCollections;
  readonly #once: IdempotencyKeys;
  readonly #savepoint: Query<never>;
  readonly #undo: Query<never>;
  readonly #release: Query<never>;

  constructor(connection: Connection, collections: OpenCollections) {
    this.#collections = collections;
    this.#once = new IdempotencyKeys(connection);
    this.#savepoint = connection.query("SAVEPOINT unit");
    this.#undo = connection.query("ROLLBACK TO unit");
    this.#release = connection.query("RELEASE unit");
  }

  apply({ changes, once }: AtomicChange): AtomicResults {
    if (!once) return this.#attempt(changes);
    const stored = this.#once.find(once);
    if (stored) {
      const [fingerprint, outcomes] = stored;
      if (fingerprint !== once.fingerprint) return [["reused", 0, 0, "", 0, 0]];
      if (this.#isAnyDeleted(outcomes, changes)) return [["gone", 0, 0, "", 0, 0]];
      return [["replay", 0, 0, outcomes, 0, 0]];
    }
    const results = this.#attempt(changes);
    const [[kind], ...each] = results;
    if (kind === "all") this.#once.save(once, textOf(changes, each));
    return results;
  }

  /** Called at the end of a batch. */
  finish(): void {
    this.#once.finish();
  }

  #isAnyDeleted(outcomes: string, changes: Changes): boolean {
    return isAnyDeleted(storedResources(outcomes, changes), (collection, id) =>
      this.#collections.find(collection)?.createdAtOf(id),
    );
  }

  #attempt(changes: Changes): AtomicResults {
    // A single change that fails has nothing to undo.
    if (changes.length < 2) return this.#applyEach(changes);
    const names = new Set(changes.map(({ collection }) => collection));
    const restores = [...names].map((name) => this.#collections.find(name)?.checkpoint());
    this.#savepoint.run();
    const results = this.#applyEach(changes);
    if (results[0][0] === "none") {
      this.#undo.run();
      for (const restore of restores) restore?.();
    }
    this.#release.run();
    return results;
  }

  #applyEach(changes: Changes): AtomicResults {
    const results: ChangeResult[] = [];
    for (const change of changes) {
      const result = this.#collections.apply(change);
      if (!doneKinds.has(result[0])) return [["none", results.length, 0, "", 0, 0], result];
      results.push(result);
    }
    return [["all", 0, 0, "", 0, 0], ...results];
  }
}

/** Stores the outcomes in the form in which a retry returns them. */
const textOf = (changes: Changes, results: readonly ChangeResult[]): string =>
  encodeOutcomes(
    changes,
    results.map((result, index) => outcomeOf(changes[index], result)),
  );
