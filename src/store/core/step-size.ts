// Sizes the steps of an index build by the time they take, because writes wait for a step.

const fewest = 8;
const most = 2_000;
/** A step is at most so much larger than the one before. */
const growth = 1.5;

/** The number of rows in the steps that run with a definition itself. */
export const firstRows = 64;

export class StepSize {
  readonly #targetMs: number;
  #work = "";
  #rows = firstRows;

  /** Steps are to take this long. */
  constructor(targetMs: number) {
    this.#targetMs = targetMs;
  }

  /** Returns how many rows the next step takes; other work begins with a small step again. */
  rowsFor(work: string): number {
    if (work !== this.#work) this.#rows = firstRows / 4;
    this.#work = work;
    return this.#rows;
  }

  /** Called with the duration of each step, its commit included. */
  adjust(ms: number): void {
    const wanted = Math.round(this.#rows * Math.min(growth, this.#targetMs / ms));
    this.#rows = Math.min(most, Math.max(fewest, wanted));
  }
}
