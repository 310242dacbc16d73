// Cells and rows of messages between threads: flat arrays of strings and numbers.

/**
 * A flat array of strings and numbers is the cheapest message to clone: for 64 small changes half the
 * cost of objects, for large ones a fiftieth of the cost of JSON.
 */
export type Cells = readonly (string | number)[];

/** Reads rows of a fixed width from the cells, one after another. */
export class Rows<R> {
  readonly #cells: Cells;
  readonly #width: number;
  #start = 0;

  constructor(cells: Cells, width: number) {
    this.#cells = cells;
    this.#width = width;
  }

  get isAtEnd(): boolean {
    return this.#start === this.#cells.length;
  }

  take(): R {
    const start = this.#start;
    this.#start += this.#width;
    return this.#cells.slice(start, this.#start) as unknown as R;
  }
}
