// Divides what a filter computes into turns, where it runs on the event loop.

import { turnBytes } from "../../lib/turns.ts";
import type { Candidate } from "../../model/query/query.ts";
import { sizeOf } from "../../model/resource.ts";
import type { Running } from "./filter-reads.ts";
import type { Match, TopMatches } from "./top-matches.ts";

/** The work of one item in bytes of a turn, by what is done with it. */
export const itemWork = { number: 16, value: 128, match: 512, resource: 512 } as const;

/** The work of looking at a resource. */
export const candidateWork = ({ resource }: Candidate): number =>
  itemWork.resource + sizeOf(resource);

/** Calls `act` with each item. */
export function* runEachInTurns<T>(
  items: Iterable<T>,
  workOf: (item: T) => number,
  act: (item: T) => void,
): Running<void> {
  let left = turnBytes;
  for (const item of items) {
    if (left <= 0) {
      yield { kind: "turn" };
      left = turnBytes;
    }
    act(item);
    left -= workOf(item);
  }
}

/** Takes the matches out, and returns them in their order. */
export function* takeSorted(top: TopMatches): Running<readonly Match[]> {
  const fromLast: Match[] = [];
  yield* runEachInTurns(
    top.takeFromLast(),
    () => itemWork.match,
    (match) => void fromLast.push(match),
  );
  return fromLast.reverse();
}

/** Returns those of the numbers that are in the other list, too. */
export function* inBoth(
  numbers: readonly number[],
  others: readonly number[],
): Running<readonly number[]> {
  const known = new Set<number>();
  const both: number[] = [];
  const workOf = () => itemWork.number;
  yield* runEachInTurns(others, workOf, (number) => void known.add(number));
  yield* runEachInTurns(numbers, workOf, (number) => {
    if (known.has(number)) both.push(number);
  });
  return both;
}
