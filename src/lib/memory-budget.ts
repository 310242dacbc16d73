// Counts the bytes that requests and answers in flight hold in memory, within one limit for all of them.

export class MemoryBudget {
  readonly limitBytes: number;
  #usedBytes = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Whether so many bytes are free. */
  hasRoomFor(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.limitBytes;
  }

  /** Counts bytes that are held whether there is room for them or not. */
  add(bytes: number): void {
    this.#usedBytes += bytes;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

/** What one request holds. After its release nothing counts any more. */
export class Reservation {
  readonly #budget: MemoryBudget;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /** Holds so many bytes more; false, and nothing changes, when there is no room for them. */
  take(bytes: number): boolean {
    return this.set(this.#bytes + bytes);
  }

  /** Holds so many bytes in all; false, and nothing changes, when there is no room for more. */
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
