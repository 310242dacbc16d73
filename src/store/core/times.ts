// Computes the times of changes, which never go backwards even when the clocks of nodes differ.

/** Returns `at`, or the time of the previous change when that is later. */
export const notBefore = (before: number, at: number): number => (at > before ? at : before);

/** Returns 1 when both times are in the same second, which is the resolution of an HTTP date. */
export const sharesSecond = (before: number, at: number): 0 | 1 =>
  Math.floor(before / 1000) === Math.floor(at / 1000) ? 1 : 0;
