// Defines the changes that are sent to a store, and their outcomes.

import type { IdempotencyKey } from "../model/idempotency-key.ts";
import type { ResourceAddress } from "../model/reference.ts";
import type { Resource } from "../model/resource.ts";
import type { Token } from "../model/token.ts";
import type { FailedOperations } from "../model/write/apply-operations.ts";
import type { OperationsRequest } from "../model/write/operate.ts";
import type { ByToken, Decided } from "./read-state.ts";

/**
 * The precondition of a change. `no-files`: there may be a resource, but without files. A number is the
 * revision that the resource must have.
 */
export type Expectation = "anything" | "no-files" | "nothing" | number;

/** Creates or replaces a resource. `nothing`: only creates it. A revision: only replaces that revision. */
export interface Put extends Decided {
  readonly kind: "put";
  readonly collection: string;
  readonly id: string;
  /** The text of a JSON object, as in Resource. */
  readonly fields: string;
  readonly at: number;
  readonly expect: Expectation;
  /** The owner of a new resource; an existing resource keeps its owner. */
  readonly owner?: string;
  /** Sets the owner, also of an existing resource; null removes it. Without it `owner` applies. */
  readonly setOwner?: string | null;
  /** The files of the resource, as in Resource; undefined when it has none. */
  readonly files?: string;
  /** The version of the rules that it was validated against; with other rules the outcome is `outdated`. */
  readonly rules?: number;
  /** Set when it creates the collection where there is none, unless it fails. */
  readonly createsCollection?: true;
  /** Set when the id was generated for this change, so that no resource has or had it. */
  readonly isNewId?: true;
  /** Set when all it does is to remove a file from a resource. */
  readonly isRemovingFile?: true;
}

export interface Remove extends Decided {
  readonly kind: "remove";
  readonly collection: string;
  readonly id: string;
  readonly at: number;
  readonly expect: Exclude<Expectation, "nothing">;
  readonly rules?: number;
}

/** Computes the new fields of a resource from its fields at the commit. */
export interface Operate extends Decided, OperationsRequest {
  readonly kind: "operate";
  readonly collection: string;
  readonly id: string;
  readonly at: number;
  readonly expect: Exclude<Expectation, "nothing">;
  /** The owner that the resource must have; without it any. With another owner the outcome is `stale`. */
  readonly owner?: string;
  readonly rules?: number;
  /** The size of the resource when it was read, by which commits are grouped. */
  readonly bytes: number;
}

/** A change of one resource. */
export type ResourceChange = Put | Remove | Operate;

/** Several of them, all or none. */
export type AtomicChange = Extract<Change, { kind: "all" }>;

export type Change =
  | ResourceChange
  /**
   * All of these or none, applied in order. With `once`, the key and the outcomes are stored in the same
   * transaction, so that a retry gets the same outcomes again. With `isTrial` each succeeds or fails on its
   * own, and then all are undone: the outcome is `all`, with what would have become of each. With `isEach`
   * they are not undone: what they were decided by is compared before the first.
   */
  | {
      readonly kind: "all";
      readonly changes: readonly ResourceChange[];
      readonly once?: IdempotencyKey;
      readonly isTrial?: true;
      readonly isEach?: true;
    }
  | (ByToken & AdminChange);

/** A change of something else than resources. */
type AdminChange =
  /** Creates a collection; does nothing when it exists. */
  | { readonly kind: "create-collection"; readonly collection: string; readonly at: number }
  /**
   * Sets the definition of a collection (the text of a JSON object), and creates the collection when it
   * does not exist. The indexes of the definition are complete afterwards, also for existing resources.
   * With `replaces`, the outcome is `outdated` when the definition is another one; null: when the
   * collection exists. Of those in a row with the same `together` all are set or none: then the outcome of
   * each is `none`, with the first that failed.
   */
  | {
      readonly kind: "define";
      readonly collection: string;
      readonly definition: string;
      readonly replaces?: string | null;
      readonly together?: string;
      readonly at: number;
    }
  /**
   * Deletes a collection with all its resources; with `isEmptyOnly`, only when it has none. With
   * `revision`, the outcome is `outdated` when the collection has another one.
   */
  | {
      readonly kind: "drop";
      readonly collection: string;
      readonly isEmptyOnly: boolean;
      readonly revision?: number;
    }
  /** With `code`, the token takes the place of this code, and is `missing` when the code is gone. */
  | { readonly kind: "create-token"; readonly token: Token; readonly code?: string }
  | { readonly kind: "revoke-token"; readonly id: string; readonly at: number }
  /** Leaves no trace of the token. */
  | { readonly kind: "remove-token"; readonly id: string }
  | { readonly kind: "touch-token"; readonly id: string; readonly at: number };

/** Two resources that have the same values in the unique index of this name. */
export interface Clash {
  readonly index: string;
  readonly ids: readonly [string, string];
}

export type Outcome =
  | { readonly kind: "created"; readonly resource: Resource }
  | { readonly kind: "replaced"; readonly resource: Resource }
  | { readonly kind: "removed"; readonly revision: number }
  /** The resource exists and must not; or the collection is not empty. */
  | { readonly kind: "taken" }
  /** The resource has another revision than the expected one, or something else than `unchanged` names. */
  | { readonly kind: "stale" }
  | { readonly kind: "revoked" }
  /** Another resource has the same values in a unique index; `field` is its name. */
  | { readonly kind: "conflict"; readonly field: string; readonly clashes?: readonly Clash[] }
  /** The operations cannot be applied to the fields, or their result is not valid. */
  | FailedOperations
  /** The stored fields are not those that were written, so nothing is computed from them. */
  | { readonly kind: "damaged" }
  /** The rules have changed since the change was validated, or the collection is not in the state that the change names. */
  | { readonly kind: "outdated" }
  /** The change refers to a resource that does not exist. */
  | { readonly kind: "dangling"; readonly target: ResourceAddress }
  /**
   * Resources of this collection refer to what would be deleted; `isKnown` is false while the index of
   * the reference is built, because it is not known then.
   */
  | { readonly kind: "referenced"; readonly by: string; readonly isKnown: boolean }
  /** The files of the owner, or of all, would have more bytes than `limit`; they have `used`. */
  | {
      readonly kind: "over-quota";
      readonly of: "subject" | "all";
      readonly limit: number;
      readonly used: number;
      readonly owner?: string | undefined;
    }
  /** The resource, the collection or the token does not exist. */
  | { readonly kind: "missing" }
  /** Every change was applied, now or (`isReplay`) by the first request with the same key. */
  | { readonly kind: "all"; readonly outcomes: readonly Outcome[]; readonly isReplay: boolean }
  /** No change was applied, because this one failed. The key is not stored. */
  | { readonly kind: "none"; readonly index: number; readonly outcome: Outcome }
  /** The key belongs to another request. */
  | { readonly kind: "reused" }
  /** The first request with this key was applied, and what it wrote was deleted since. Nothing was applied. */
  | { readonly kind: "gone" }
  | { readonly kind: "done" };

/**
 * Whether a change only deletes, so that a full disk allows it. What follows from a deletion, such as
 * references that become null, changes resources that exist.
 */
export function isDeletion(change: Change): boolean {
  if (change.kind === "put") return change.isRemovingFile === true;
  if (change.kind !== "all") return deletingKinds.has(change.kind);
  const others = change.changes.filter(({ kind }) => kind !== "remove");
  return (
    others.length < change.changes.length &&
    others.every((other) => other.kind === "put" && typeof other.expect === "number")
  );
}

const deletingKinds: ReadonlySet<Change["kind"]> = new Set([
  "remove",
  "drop",
  "revoke-token",
  "remove-token",
]);

/** Returns the outcome of the change that failed inside `all`, otherwise the outcome itself. */
export const failureOf = (outcome: Outcome): Outcome =>
  outcome.kind === "none" ? outcome.outcome : outcome;

/** Whether what was read before may be old: the rules have changed, or the collection is no longer there. */
export const isOutdated = (outcome: Outcome): boolean =>
  ["outdated", "missing"].includes(failureOf(outcome).kind);

const failedKinds: ReadonlySet<Outcome["kind"]> = new Set([
  "taken",
  "stale",
  "revoked",
  "missing",
  "outdated",
  "conflict",
  "invalid",
  "inapplicable",
  "damaged",
  "dangling",
  "referenced",
  "over-quota",
]);
/** Whether a change was not applied. */
export const isFailure = ({ kind }: Outcome): boolean => failedKinds.has(kind);
