// A pattern as an automaton: which character may come after which, and in how many ways.

import { type Alphabet, everyLetter } from "./alphabet.ts";
import type { Pattern } from "./pattern.ts";

export interface Automaton {
  /** For each state those that may come next, with the number of ways. State 0 is the start. */
  readonly next: readonly ReadonlyMap<number, number>[];
  /** For each state the letters that lead into it, one bit for each. */
  readonly letters: readonly bigint[];
  /** States in which the match has succeeded, whatever comes. */
  readonly isAccepting: readonly boolean[];
}

/** More states than this are not looked at. */
const maxStates = 500;
/** So many optional copies are told apart; more count as any number. */
const maxOptional = 4;
const manyWays = 1e9;

/** Undefined when it has too many states or parts that cannot be followed. */
export function automatonOf(
  pattern: Pattern,
  alphabet: Alphabet,
  isAnchored: boolean,
): Automaton | undefined {
  const builder = new Builder(alphabet);
  const whole = builder.build(pattern);
  if (builder.isLost) return undefined;
  const { next, letters } = builder;
  // An expression that is not anchored is tried at every place: any character leads back to the start.
  if (!isAnchored) addWays(next, 0, 0, 1);
  for (const [state, ways] of whole.first) addWays(next, 0, state, ways);
  const isDone = letters.map((_, state) =>
    state === 0 ? whole.isFreelyEmpty : whole.freeLast.has(state),
  );
  return { next, letters, isAccepting: isDone };
}

type Ways = ReadonlyMap<number, number>;

/** A part of the automaton: how it begins, how it ends, and in how many ways it takes nothing. */
interface Fragment {
  readonly empty: number;
  readonly first: Ways;
  readonly last: Ways;
  /** The same without passing an edge or a look, which may fail. */
  readonly isFreelyEmpty: boolean;
  readonly freeLast: ReadonlySet<number>;
}

const none: Ways = new Map();
const nothing: Fragment = {
  empty: 1,
  first: none,
  last: none,
  isFreelyEmpty: true,
  freeLast: new Set(),
};
const edge: Fragment = { ...nothing, isFreelyEmpty: false };

class Builder {
  readonly next: Map<number, number>[] = [new Map()];
  readonly letters: bigint[] = [everyLetter];
  isLost = false;
  readonly #alphabet: Alphabet;

  constructor(alphabet: Alphabet) {
    this.#alphabet = alphabet;
  }

  build(pattern: Pattern): Fragment {
    if (this.isLost) return nothing;
    switch (pattern.kind) {
      case "character":
        return this.#character(pattern.source);
      case "sequence":
        return pattern.parts.reduce<Fragment>(
          (before, part) => this.#join(before, this.build(part)),
          nothing,
        );
      case "choice":
        return pattern.parts.map((part) => this.build(part)).reduce(either);
      case "repeat":
        return this.#repeat(pattern.body, pattern.min, pattern.max);
      case "edge":
      case "look":
        return edge;
      case "unknown":
        this.isLost = true;
        return nothing;
    }
  }

  #character(source: string): Fragment {
    const state = this.letters.length;
    this.isLost ||= state === maxStates;
    this.letters.push(this.#alphabet(source));
    this.next.push(new Map());
    const only = new Map([[state, 1]]);
    return { empty: 0, first: only, last: only, isFreelyEmpty: false, freeLast: new Set([state]) };
  }

  #join(one: Fragment, other: Fragment): Fragment {
    this.#lead(one, other);
    return {
      empty: bounded(one.empty * other.empty),
      first: sum(one.first, scaled(other.first, one.empty)),
      last: sum(other.last, scaled(one.last, other.empty)),
      isFreelyEmpty: one.isFreelyEmpty && other.isFreelyEmpty,
      freeLast: other.isFreelyEmpty ? one.freeLast.union(other.freeLast) : other.freeLast,
    };
  }

  #lead(one: Fragment, other: Fragment): void {
    for (const [from, ways] of one.last)
      for (const [to, more] of other.first) addWays(this.next, from, to, ways * more);
  }

  #repeat(body: Pattern, min: number, max: number): Fragment {
    const optional = max - min;
    if (optional > maxOptional) {
      const loop = this.#loop(body);
      return min === 0 ? optionally(loop) : this.#join(this.#copies(body, min - 1), loop);
    }
    let tail = nothing;
    for (let count = 0; count < optional && !this.isLost; count++)
      tail = optionally(this.#join(this.build(body), tail));
    return this.#join(this.#copies(body, min), tail);
  }

  /** Once or more. */
  #loop(body: Pattern): Fragment {
    const part = this.build(body);
    this.#lead(part, part);
    return part;
  }

  #copies(body: Pattern, count: number): Fragment {
    let part = nothing;
    for (let copy = 0; copy < count && !this.isLost; copy++)
      part = this.#join(part, this.build(body));
    return part;
  }
}

/** An engine does not go on with a repetition that took nothing, so there is one way to take nothing. */
const optionally = (part: Fragment): Fragment => ({ ...part, empty: 1, isFreelyEmpty: true });

const either = (one: Fragment, other: Fragment): Fragment => ({
  empty: bounded(one.empty + other.empty),
  first: sum(one.first, other.first),
  last: sum(one.last, other.last),
  isFreelyEmpty: one.isFreelyEmpty || other.isFreelyEmpty,
  freeLast: one.freeLast.union(other.freeLast),
});

const bounded = (ways: number): number => Math.min(ways, manyWays);

function scaled(ways: Ways, factor: number): Ways {
  if (factor === 0) return none;
  return factor === 1
    ? ways
    : new Map([...ways].map(([to, count]) => [to, bounded(count * factor)]));
}

function sum(one: Ways, other: Ways): Ways {
  const total = new Map(one);
  for (const [to, ways] of other) total.set(to, bounded((total.get(to) ?? 0) + ways));
  return total;
}

function addWays(next: readonly Map<number, number>[], from: number, to: number, ways: number) {
  next[from]?.set(to, bounded((next[from].get(to) ?? 0) + ways));
}
