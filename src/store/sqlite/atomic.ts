// Units: all of their changes or none, and under a key only once.

import { isAnyGone, keptResources, keptTextOf } from "../kept-outcomes.ts";
import type { Put, Remove } from "../store.ts";
import type { OpenCollections } from "./collections.ts";
import type { Connection, Query } from "./connection.ts";
import { IdempotencyKeys } from "./idempotency.ts";
import { outcomeOf, type Unit, type UnitVerdict, type Verdict } from "./message-codec.ts";

/** What became of the unit, then the verdicts on its changes, or that on the one that failed. */
export type UnitVerdicts = readonly [UnitVerdict, ...Verdict[]];

type Changes = readonly (Put | Remove)[];

const doneKinds: ReadonlySet<Verdict[0]> = new Set(["created", "replaced", "removed"]);

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

  judge({ changes, once }: Unit): UnitVerdicts {
    if (!once) return this.#attempt(changes);
    const kept = this.#once.find(once);
    if (kept) {
      const [fingerprint, outcomes] = kept;
      if (fingerprint !== once.fingerprint) return [["reused", 0, 0, "", 0, 0]];
      if (this.#isAnyGone(outcomes, changes)) return [["gone", 0, 0, "", 0, 0]];
      return [["replay", 0, 0, outcomes, 0, 0]];
    }
    const verdicts = this.#attempt(changes);
    const [[kind], ...each] = verdicts;
    if (kind === "all") this.#once.keep(once, textOf(changes, each));
    return verdicts;
  }

  /** What is left to do at the end of a batch. */
  settle(): void {
    this.#once.settle();
  }

  #isAnyGone(outcomes: string, changes: Changes): boolean {
    return isAnyGone(keptResources(outcomes, changes), (collection, id) =>
      this.#collections.find(collection)?.createdAtOf(id),
    );
  }

  #attempt(changes: Changes): UnitVerdicts {
    // A change that fails alone has done nothing that would have to be undone.
    if (changes.length < 2) return this.#judgeEach(changes);
    const names = new Set(changes.map(({ collection }) => collection));
    const putBacks = [...names].map((name) => this.#collections.find(name)?.checkpoint());
    this.#savepoint.run();
    const verdicts = this.#judgeEach(changes);
    if (verdicts[0][0] === "none") {
      this.#undo.run();
      for (const putBack of putBacks) putBack?.();
    }
    this.#release.run();
    return verdicts;
  }

  #judgeEach(changes: Changes): UnitVerdicts {
    const verdicts: Verdict[] = [];
    for (const change of changes) {
      const verdict = this.#collections.judge(change);
      if (!doneKinds.has(verdict[0])) return [["none", verdicts.length, 0, "", 0, 0], verdict];
      verdicts.push(verdict);
    }
    return [["all", 0, 0, "", 0, 0], ...verdicts];
  }
}

/** As the caller will see them when it comes again, so that a replay is only read. */
const textOf = (changes: Changes, verdicts: readonly Verdict[]): string =>
  keptTextOf(
    changes,
    verdicts.map((verdict, index) => outcomeOf(changes[index], verdict)),
  );
