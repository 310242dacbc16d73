// Collects how long each of many operations takes, and summarizes them.

export interface Summary {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export class Latencies {
  readonly #startedAt = performance.now();
  readonly #all: number[] = [];

  add(ms: number): void {
    this.#all.push(ms);
  }

  get count(): number {
    return this.#all.length;
  }

  /** Must have at least one. */
  summary(): Summary {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const sorted = Float64Array.from(this.#all).sort();
    const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] as number;
    return { perSecond: sorted.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
  }
}
