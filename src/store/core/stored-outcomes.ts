// Encodes the outcomes that are stored under an Idempotency-Key, and detects that a resource in them was deleted.

import type { Outcome, ResourceChange } from "../store.ts";

/** A resource whose content is part of the stored text. */
export interface OutcomeResource {
  readonly collection: string;
  readonly id: string;
  readonly createdAt: number;
  readonly owner: string | undefined;
}

export interface StoredOutcomes {
  readonly outcomes: readonly Outcome[];
  readonly resources: readonly OutcomeResource[];
}

type Changes = readonly ResourceChange[];
/** An outcome with a resource has the name of its collection. */
type GroupMember = Outcome & { readonly collection?: string };

/** Replaces the stored outcomes when a resource in them was deleted. */
export const erasedText = '"gone"';

/** Encodes the outcomes of the changes, each resource with the name of its collection. */
export const encodeOutcomes = (changes: Changes, outcomes: readonly Outcome[]): string =>
  JSON.stringify(
    outcomes.map((outcome, index): GroupMember => {
      const collection = changes[index]?.collection;
      return "resource" in outcome && collection !== undefined
        ? { ...outcome, collection }
        : outcome;
    }),
  );

/** Returns undefined when the outcomes were erased because a resource in them was deleted. */
export function decodeOutcomes(text: string): StoredOutcomes | undefined {
  if (text === erasedText) return undefined;
  const members = JSON.parse(text) as readonly GroupMember[];
  const resources = members.flatMap((member): readonly OutcomeResource[] => {
    if (!("resource" in member) || member.collection === undefined) return [];
    const { id, createdAt, owner } = member.resource;
    return [{ collection: member.collection, id, createdAt, owner }];
  });
  const outcomes = members.map(({ collection: _, ...outcome }) => outcome as Outcome);
  return { outcomes, resources };
}

/** Whether one of the resources was deleted. A newer resource with the same id has another creation time. */
export function isAnyDeleted(
  resources: readonly OutcomeResource[] | undefined,
  createdAtOf: (collection: string, id: string) => number | undefined,
): boolean {
  if (resources === undefined) return true;
  return resources.some(
    ({ collection, id, createdAt }) => createdAtOf(collection, id) !== createdAt,
  );
}
