// Knows the last commit that a reader has seen, and notices new ones before each read.

import type { CommitCounter } from "./commit-counter.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { Moved, movedNumber } from "./moved.ts";

/** SQLite is queried this often anyway: other programs do not update the commit counter. */
const maxQuietMs = 1_000;

/** The counter has the last 32 bits of a number. */
const isBefore = (commit: number, number: number): boolean => ((commit - number) | 0) < 0;

export class SeenCommits {
  readonly #counter: CommitCounter;
  /** The numbers in the counter when the connection was opened. */
  readonly #firstNumber: number;
  readonly #firstCatalogNumber: number;
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

  constructor(connection: Connection, counter: CommitCounter) {
    this.#counter = counter;
    this.#firstNumber = counter.number;
    this.#firstCatalogNumber = counter.catalogNumber;
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

  /** The number in the commit counter now. */
  get number(): number {
    return this.#counter.number;
  }

  /** Catches up when the commit counter has changed, and at least once per second. */
  refresh(): void {
    const { number } = this;
    const now = performance.now();
    const isQuiet = number === this.#seenNumber;
    if (isQuiet && now - this.#refreshedAt < maxQuietMs) return;
    this.#read();
    this.#requireAtLeast(number, this.#firstNumber);
    this.#seenNumber = number;
    this.#refreshedAt = now;
  }

  /** The same for tokens, collections and definitions, which few commits change. */
  refreshCatalog(): void {
    const { catalogNumber } = this.#counter;
    const now = performance.now();
    const isQuiet = catalogNumber === this.#seenCatalogNumber;
    if (isQuiet && now - this.#catalogReadAt < maxQuietMs) return;
    this.#read();
    this.#requireAtLeast(catalogNumber, this.#firstCatalogNumber);
    this.#catalog++;
    this.#seenCatalogNumber = catalogNumber;
    this.#catalogReadAt = now;
  }

  /**
   * The same in a snapshot, for the number that was in the counter before it. SQLite's data version changes
   * when any other connection, in this process or another, has committed.
   */
  catchUp(number: number): void {
    const version = this.#dataVersion.one()?.[0] ?? 0;
    if (version !== this.#seenVersion) {
      this.#read();
      this.#catalog++;
      this.#seenVersion = version;
    }
    this.#requireAtLeast(number, this.#firstNumber);
  }

  /**
   * A commit is in the database before its number is in the counter. Where one that was made since the first
   * number is missing, it is in another file or WAL. A counter that stands may be that of a database that was
   * replaced by an older one.
   */
  #requireAtLeast(number: number, first: number): void {
    if (number === first) return;
    if (number === movedNumber || isBefore(this.#last, number))
      throw new Moved("the database is in another file now");
  }

  /**
   * The following queries can see an even newer state: then there is another commit by the next call,
   * and the same revisions are checked once more.
   */
  #read(): void {
    const [commit, tokens] = this.#store.one() ?? [0, 0];
    this.#last = commit;
    this.#lastTokens = tokens;
  }
}
