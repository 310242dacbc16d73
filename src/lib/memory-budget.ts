// Counts the bytes that requests and responses in flight hold in memory, against one limit for all of them.

export class MemoryBudget {
  limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Whether this many bytes are free. */
  hasRoomFor(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.limitBytes;
  }

  /** Adds bytes even beyond the limit. */
  add(bytes: number): void {
    this.#usedBytes += bytes;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

/** The bytes that one request holds. After `release` further bytes are not counted. */
export class Reservation {
  readonly #budget: MemoryBudget;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** Reserves more bytes. Returns false and changes nothing when the budget is exhausted. */
  take(bytes: number): boolean {
    return this.set(this.#bytes + bytes);
  }

  /** Sets the total of this reservation. Returns false and changes nothing when the budget is exhausted. */
  set(bytes: number): boolean {
    if (this.#isReleased) return true;
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#budget.hasRoomFor(more)) return false;
    this.#budget.add(more);
    this.#bytes = bytes;
    return true;
  }

  release(): void {
    this.set(0);
    this.#isReleased = true;
  }
}
