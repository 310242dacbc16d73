// What apps that answer GETs in one process differ in, and how long they took.

/** What the apps differ in. */
export const variants = {
  plain: "as it comes",
  again: "the same again",
  unmeasured: "without metrics",
  unsampled: "with a collector, and no request of the share that is traced",
} as const;
export type Variant = keyof typeof variants;

export interface Observed {
  /** For each variant the nanoseconds of a GET, one for each round. */
  readonly times: Readonly<Record<Variant, readonly number[]>>;
  /** The nanoseconds in which a request is counted, in a loop that does nothing else. */
  readonly countNs: number;
}
