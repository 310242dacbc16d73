// What a change was decided by: states that were read elsewhere, and that must be the same at the commit.

/** The state of one resource, or without `id` of a collection. The revision is -1 for what did not exist. */
interface ReadContent {
  readonly collection: string;
  readonly id?: string;
  readonly revision: number;
}

/** The version of a definition; 0 for a collection that did not exist. */
interface ReadDefinition {
  readonly collection: string;
  readonly version: number;
}

export type ReadState = ReadContent | ReadDefinition;

/**
 * The id of the token that the caller sent. When it is revoked at the commit, the outcome is `revoked`. When it
 * has expired since the plan, the change passes: its time, `at`, is before that, nobody was told of an end, and
 * the process that commits can have another clock than the one that judged the request.
 */
export interface ByToken {
  readonly callerToken?: string | undefined;
}

/** Where a revision differs at the commit, the outcome is `stale`, where a version differs `outdated`. */
export interface Decided extends ByToken {
  readonly unchanged?: readonly ReadState[];
}
