// Computes what the rows of a collection and of its head are when all that is derived is computed again.

import { correctReferrers } from "./publication.ts";
import { CannotLoad, type SourceCollection } from "./transfer.ts";

/** What the resources of a part say; the last two are 0 when there are none. */
export type ResourceCounts = readonly [
  ...(readonly [total: number, bytes: number]),
  ...(readonly [seq: number, revision: number]),
];

/** Takes the next revision and a new version, so that every cache of pages and of heads notices. */
export function rebuiltCollection(
  collections: readonly SourceCollection[],
  part: number,
  [total, bytes, seq, revision]: ResourceCounts,
): SourceCollection {
  const collection = collections.find((each) => each.part === part);
  if (collection === undefined) throw new CannotLoad("the collection does not exist any more");
  const corrected = correctReferrers(collections).find(([each]) => each === collection);
  const { head } = collection;
  const version = Math.max(collection.version, head.version) + 1;
  const counters = {
    total,
    bytes,
    seq: Math.max(head.seq, seq),
    revision: Math.max(head.revision, revision) + 1,
  };
  const referrers = corrected?.[1] ?? collection.referrers;
  return { ...collection, version, referrers, head: { ...head, ...counters, version } };
}
