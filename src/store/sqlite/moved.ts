// Tells readers that the database has moved to another file.

/**
 * The last commit number of a file whose content has been moved to a new file. No real commit has this
 * number, also not in the 32 bits of the commit counter.
 */
export const movedCommit = 2 ** 52 - 1;

/** Thrown by a reader when its file is no longer the database. */
export class Moved extends Error {}
