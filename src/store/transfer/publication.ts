// Decides what a publication of loaded collections replaces, and who refers to whom afterwards.

import { indexPlanOf } from "../../model/query/index-plan.ts";
import { newPart } from "../core/part.ts";
import { CannotLoad, type Publication } from "./transfer.ts";

interface NamedPart {
  readonly name: string;
  readonly part: number;
}

/** Returns the collections to delete. Throws when the publication replaces nothing and there are some. */
export function replacedBy<T extends NamedPart>(
  existing: readonly T[],
  loaded: readonly NamedPart[],
  { replaces, whole }: Publication,
): readonly T[] {
  const names = new Set(loaded.map(({ name }) => name));
  const isInTheWay = ({ name }: NamedPart) => whole !== undefined || names.has(name);
  const found = existing.filter((each) => replaces === "everything" || isInTheWay(each));
  const [first] = found;
  if (first !== undefined && replaces === "nothing")
    throw new CannotLoad(`the collection ${first.name} exists`);
  return found;
}

interface ReferringCollection {
  readonly name: string;
  readonly definition: string;
  readonly referrers: readonly string[];
}

/** Returns the collections that have other referrers than are stored. Throws when one refers to nothing. */
export function correctReferrers<T extends ReferringCollection>(
  collections: readonly T[],
): readonly (readonly [collection: T, referrers: readonly string[]])[] {
  const referrers = new Map(collections.map(({ name }) => [name, new Set<string>()]));
  for (const { name, definition } of collections)
    for (const { collection: target } of indexPlanOf(definition).references ?? []) {
      const known = referrers.get(target);
      if (known === undefined)
        throw new CannotLoad(
          `${name} refers to the collection ${target}, which does not exist there`,
        );
      known.add(name);
    }
  return collections.flatMap((collection) => {
    const correct = [...(referrers.get(collection.name) ?? [])].sort();
    return correct.join() === collection.referrers.join() ? [] : [[collection, correct] as const];
  });
}

/**
 * Returns a new part for each one. Their order is the same: the Idempotency-Key of a request that writes
 * to several collections is in the lowest part.
 */
export function newParts(parts: readonly number[]): ReadonlyMap<number, number> {
  const sorted = parts.toSorted((a, b) => a - b);
  const renewed = sorted.map(newPart).sort((a, b) => a - b);
  return new Map(sorted.map((part, index) => [part, renewed[index] ?? newPart()]));
}
