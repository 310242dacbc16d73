// Knows the last commit that a reader has seen, and notices new ones before each read.

import type { CommitCounter } from "./commit-counter.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { Moved, movedCommit } from "./moved.ts";

/** SQLite is queried this often anyway: other programs do not update the commit counter. */
const maxQuietMs = 1_000;

/** The counter has the last 32 bits of a number. */
const isBefore = (commit: number, number: number): boolean => ((commit - number) | 0) < 0;
const movedNumber = movedCommit >>> 0;

export class SeenCommits {
  readonly #counter: CommitCounter | undefined;
  /** The number in the counter when the connection was opened. */
  readonly #firstNumber: number | undefined;
  readonly #dataVersion: PreparedQuery<readonly [version: number]>;
  readonly #store: PreparedQuery<readonly [commits: number, tokens: number]>;
  #last = 0;
  #lastTokens = 0;
  #catalog = 0;
  #seenVersion = 0;
  #seenNumber: number | undefined;
  #refreshedAt = 0;
  #seenCatalogNumber: number | undefined;
  #catalogReadAt = 0;
  #isFresh = false;

  constructor(connection: Connection, counter: CommitCounter | undefined) {
    this.#counter = counter;
    this.#firstNumber = counter?.number;
    this.#dataVersion = connection.query("PRAGMA data_version");
    this.#store = connection.query("SELECT commits, tokens FROM store");
  }

  /** The number of the last commit. */
  get last(): number {
    return this.#last;
  }

  /** The number of the last commit that changed tokens. */
  get lastTokens(): number {
    return this.#lastTokens;
  }

  /** Changes when tokens, collections or definitions may have changed since the last call of `refreshCatalog`. */
  get catalog(): number {
    return this.#catalog;
  }

  refresh(): void {
    if (this.#counter === undefined) this.#refreshOncePerTurn();
    else this.#refreshAfterCommit(this.#counter);
  }

  /** The same for tokens, collections and definitions, which few commits change. */
  refreshCatalog(): void {
    if (this.#counter === undefined) this.#refreshOncePerTurn();
    else this.#refreshAfterCatalog(this.#counter);
  }

  /** SQLite's data version changes when any other connection, in this process or another, has committed. */
  catchUp(): void {
    const version = this.#dataVersion.one()?.[0] ?? 0;
    if (version === this.#seenVersion) return;
    this.#read();
    this.#catalog++;
    this.#seenVersion = version;
  }

  /** Catches up when the commit counter has changed, and at least once per second. */
  #refreshAfterCommit({ number }: CommitCounter): void {
    const now = performance.now();
    const isQuiet = number === this.#seenNumber;
    if (isQuiet && now - this.#refreshedAt < maxQuietMs) return;
    this.#readAtLeast(number);
    this.#seenNumber = number;
    this.#refreshedAt = now;
  }

  #refreshAfterCatalog({ catalogNumber }: CommitCounter): void {
    const now = performance.now();
    const isQuiet = catalogNumber === this.#seenCatalogNumber;
    if (isQuiet && now - this.#catalogReadAt < maxQuietMs) return;
    this.#read();
    this.#catalog++;
    this.#seenCatalogNumber = catalogNumber;
    this.#catalogReadAt = now;
  }

  /**
   * Reads that follow each other without a return to the event loop see the same commits. No client can
   * have sent its request after the acknowledgement of a commit in between.
   */
  #refreshOncePerTurn(): void {
    if (this.#isFresh) return;
    this.catchUp();
    this.#isFresh = true;
    queueMicrotask(() => {
      this.#isFresh = false;
    });
  }

  /**
   * A commit is in the database before its number is in the counter. Where one that was made since then is
   * missing, the connection was opened while the WAL was deleted, and would never see what was in it, nor that
   * the database has moved. A counter that stands may be that of a database that was replaced by an older one.
   */
  #readAtLeast(number: number): void {
    this.#read();
    if (number === this.#firstNumber) return;
    if (number === movedNumber || isBefore(this.#last, number))
      throw new Moved("the WAL of the database is missing");
  }

  /**
   * The following queries can see an even newer state: then there is another commit by the next call,
   * and the same revisions are checked once more.
   */
  #read(): void {
    const [commit, tokens] = this.#store.one() ?? [0, 0];
    if (commit === movedCommit) throw new Moved("the database is in another file now");
    this.#last = commit;
    this.#lastTokens = tokens;
  }
}
