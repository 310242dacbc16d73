// Times of changes: they never go backwards, whichever node writes and whatever its clock says.

/** The time of a change to what was last changed at `before`. */
export const notBefore = (before: number, at: number): number => (at > before ? at : before);

/** An HTTP date has whole seconds: 1 when it cannot tell the two times apart. */
export const sharesSecond = (before: number, at: number): 0 | 1 =>
  Math.floor(before / 1000) === Math.floor(at / 1000) ? 1 : 0;
