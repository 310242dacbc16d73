// When what callers may use was last changed: the version of the contract is made from it.

import type { Collection } from "../model/collection.ts";
import { accessDocumentOf, accessName } from "../model/schemas/access.ts";
import type { Verb } from "../model/token.ts";

/** What a principal may use, and since when. */
export interface Contract {
  readonly collections: readonly UsableCollection[];
  readonly definedAt: number;
}

/** A collection with the verbs that a principal may use. */
export interface UsableCollection {
  readonly collection: Collection;
  readonly verbs: readonly Verb[];
}

/**
 * Returns the second in which the newest definition that a caller sees was set, or in which something was
 * last withdrawn from anyone. It never goes back: what a caller no longer sees was set before that.
 */
export function contractTime(
  all: readonly Collection[],
  collections: readonly UsableCollection[],
): number {
  const seen = collections.filter(({ verbs }) => verbs.length > 0);
  const withdrawn = all.filter(({ name }) => name === accessName);
  const set = [...withdrawn, ...seen.map(({ collection }) => collection)].map(
    ({ version, createdAt }) => Math.max(version, createdAt),
  );
  return Math.floor(set.reduce((newest, time) => Math.max(newest, time), 0) / 1_000);
}

/**
 * Sets the access document again, as it is: the time of its definition is that of the last withdrawal.
 * Another document that comes first has the same effect.
 */
export const withdrawal = (document: Collection | undefined, at: number) =>
  ({
    kind: "define",
    collection: accessName,
    definition: document?.definition ?? JSON.stringify(accessDocumentOf(undefined)),
    replaces: document?.definition ?? null,
    at,
  }) as const;

/** The clock can be behind the definitions that are withdrawn. */
export const notBefore = (at: number, withdrawn: readonly Collection[]): number =>
  withdrawn.reduce((latest, { version }) => Math.max(latest, version), at);

/** Whether two definitions let the same callers do the same. */
export const isSameAccess = (before: string, after: string): boolean =>
  accessIn(before) === accessIn(after);

const accessIn = (definition: string): string => {
  const { access, boundary } = JSON.parse(definition);
  return JSON.stringify([access, boundary]);
};
