// Decides whose an Idempotency-Key is, and where it belongs, that 0.1.0 has stored for all collections together.

import { anonymousOwner } from "../../model/idempotency-key.ts";
import { erasedText, type StoredOutcomes } from "./stored-outcomes.ts";

/** The collection of a resource in stored outcomes. */
export interface ResourceOwner {
  readonly part: number;
  readonly name: string;
}

export interface KeyPlace {
  readonly parts: readonly number[];
  /** With the name of each collection, which version 0.1.0 did not store. */
  readonly outcomes: string;
}

/** In 0.1.0 all callers without a token shared their keys. */
export const oldKeyOwner = (owner: string, fingerprint: string): string =>
  owner === "" ? anonymousOwner(fingerprint) : owner;

/**
 * A key belongs to the lowest part that its request changed. Where that is not known, because the
 * outcomes were erased or not all of them have a resource, the key is stored in every part until it expires.
 * `owners` are those of the resources, undefined where a resource or its collection was deleted.
 */
export function placeOldKey(
  text: string,
  stored: StoredOutcomes | undefined,
  owners: readonly (ResourceOwner | undefined)[],
  everywhere: readonly number[],
): KeyPlace {
  if (!stored) return { parts: everywhere, outcomes: text };
  const { resources } = stored;
  if (owners.some((owner, index) => !owner && resources[index]?.collection === undefined))
    return { parts: everywhere, outcomes: erasedText };
  const names = resources.map(({ collection }, index) => owners[index]?.name ?? collection);
  const named = stored.outcomes.map((outcome) =>
    "resource" in outcome ? { ...outcome, collection: names.shift() } : outcome,
  );
  const outcomes = JSON.stringify(named);
  const isEachKnown = resources.length === stored.outcomes.length;
  if (!isEachKnown) return { parts: everywhere, outcomes };
  const parts = owners.flatMap((owner) => owner?.part ?? []);
  return { parts: parts.length > 0 ? [Math.min(...parts)] : [], outcomes };
}
