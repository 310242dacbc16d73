// Tells readers that the database has moved to another file.

/**
 * What the commit counter has after the database has moved. A commit with these 32 bits does no harm: readers
 * open the database again.
 */
export const movedNumber = 2 ** 32 - 1;

/** Thrown by a reader when its file is no longer the database. */
export class Moved extends Error {}
