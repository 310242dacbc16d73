// Reads from the database file, and opens it again when it was replaced by a copy.

import { Outage } from "../../model/outage.ts";
import { withCollection } from "../core/stored-resource.ts";
import { outageOf } from "./connection.ts";
import { Moved } from "./moved.ts";
import type { Reader } from "./reader.ts";

const maxAttempts = 3;

export class CurrentReader {
  readonly #open: () => Reader;
  #reader: Reader;

  constructor(open: () => Reader) {
    this.#open = open;
    this.#reader = open();
  }

  read<T>(read: (reader: Reader) => T, attemptsLeft = maxAttempts): T {
    try {
      return read(this.#reader);
    } catch (error) {
      if (!(error instanceof Moved)) throw outageOf(error) ?? error;
      if (attemptsLeft === 0) throw new Outage("unavailable", error.message, { cause: error });
      this.#reopen();
      return this.read(read, attemptsLeft - 1);
    }
  }

  /** Adds the name of the collection to the error of a damaged resource. */
  readIn<T>(collection: string, read: (reader: Reader) => T): T {
    try {
      return this.read(read);
    } catch (error) {
      throw withCollection(error, collection);
    }
  }

  close(): void {
    this.#reader.close();
  }

  #reopen(): void {
    const old = this.#reader;
    this.#reader = this.#open();
    old.close();
  }
}
