// What is kept of a request under its Idempotency-Key: the outcomes as text, without what was deleted since.

import type { Outcome, Put, Remove } from "./store.ts";

/** A resource whose content is in the text. */
export interface KeptResource {
  /** None in a text that was kept by version 0.1.0. */
  readonly collection: string | undefined;
  readonly id: string;
  readonly createdAt: number;
}

export interface KeptOutcomes {
  readonly outcomes: readonly Outcome[];
  readonly resources: readonly KeptResource[];
}

type Changes = readonly (Put | Remove)[];
type Member = Outcome & { readonly collection?: string };

/** Stands in the place of outcomes that held a resource which was deleted since. */
export const goneText = '"gone"';

/** The outcomes of the changes, each resource with the name of its collection. */
export const keptTextOf = (changes: Changes, outcomes: readonly Outcome[]): string =>
  JSON.stringify(
    outcomes.map((outcome, index): Member => {
      const collection = changes[index]?.collection;
      return "resource" in outcome && collection !== undefined
        ? { ...outcome, collection }
        : outcome;
    }),
  );

/** Undefined when a resource in them was deleted and they were taken out. */
export function readKeptText(text: string): KeptOutcomes | undefined {
  if (text === goneText) return undefined;
  const members = JSON.parse(text) as readonly Member[];
  const resources = members.flatMap((member): readonly KeptResource[] => {
    if (!("resource" in member)) return [];
    const { id, createdAt } = member.resource;
    return [{ collection: member.collection, id, createdAt }];
  });
  const outcomes = members.map(({ collection: _, ...outcome }) => outcome as Outcome);
  return { outcomes, resources };
}

/** The resources of a text that a retry with these changes finds; what they create tells the collection. */
export function keptResources(text: string, changes: Changes): readonly KeptResource[] | undefined {
  return readKeptText(text)?.resources.map((resource, index) => {
    const change = changes[index];
    const retried = change?.kind === "put" ? change.collection : undefined;
    return { ...resource, collection: resource.collection ?? retried };
  });
}

/** Whether one of the resources was deleted; another that took its id later is not the same. */
export function isAnyGone(
  resources: readonly KeptResource[] | undefined,
  createdAtOf: (collection: string, id: string) => number | undefined,
): boolean {
  if (resources === undefined) return true;
  return resources.some(
    ({ collection, id, createdAt }) =>
      collection !== undefined && createdAtOf(collection, id) !== createdAt,
  );
}
