// Sizes the steps of an index build by the time they take, because writes wait for a step.

const fewest = 8;
const most = 2_000;
/** A step is at most so much larger than the one before. */
const growth = 1.5;

/** How many steps are looked at: the fastest of them hardly waited for a core or the disk. */
const remembered = 8;

/** The number of rows in the steps that run with a definition itself. */
export const firstRows = 64;

export interface StepTimes {
  /** How long a step is to take when it waits for nothing. */
  readonly targetMs: number;
  /** A step that took longer, because it had to wait, is followed by a smaller one at once. */
  readonly longestMs: number;
}

export class StepSize {
  readonly #times: StepTimes;
  #work = "";
  #rows = firstRows;
  /** What a row took in the last steps, in milliseconds. */
  #costs: readonly number[] = [];

  constructor(times: StepTimes) {
    this.#times = times;
  }

  /** Returns how many rows the next step takes; other work begins with a small step again. */
  rowsFor(work: string): number {
    if (work !== this.#work) {
      this.#rows = firstRows / 4;
      this.#costs = [];
    }
    this.#work = work;
    return this.#rows;
  }

  /** Called after each step with its duration, its commit included, and with the rows that it had. */
  adjust(ms: number, rows: number): void {
    const { targetMs, longestMs } = this.#times;
    const cost = ms / Math.max(1, rows);
    this.#costs = [...this.#costs, cost].slice(-remembered);
    const wanted = Math.min(targetMs / Math.min(...this.#costs), longestMs / cost);
    this.#rows = Math.round(Math.min(most, growth * this.#rows, Math.max(fewest, wanted)));
  }
}
