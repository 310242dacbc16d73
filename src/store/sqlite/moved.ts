// How readers learn that the database has moved to another file.

/**
 * Stands as the number of the last batch in a file whose content has been moved to a new one. No
 * batch is ever given it, and as 32 bits it is a number that the bell does not otherwise have.
 */
export const movedBatch = 2 ** 52 - 1;

/** Thrown by a reader whose file is no longer the database. */
export class Moved extends Error {}
