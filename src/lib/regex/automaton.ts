// Builds an automaton from a pattern: which character may follow which, and on how many paths.

import { type Alphabet, everyLetter } from "./alphabet.ts";
import type { PatternNode } from "./pattern.ts";

export interface Automaton {
  /** The successors of each state with the number of paths to them. State 0 is the start. */
  readonly next: readonly ReadonlyMap<number, number>[];
  /** The letters that lead into each state, one bit for each letter. */
  readonly letters: readonly bigint[];
  /** States in which the match has succeeded whatever follows. */
  readonly isAccepting: readonly boolean[];
}

/** A pattern with more states is not analysed. */
const maxStates = 500;
/** Up to this many optional copies are built one by one. More count as a loop. */
const maxOptional = 4;
const manyWays = 1e9;

/** Returns undefined when the pattern has too many states or unsupported parts. */
export function automatonOf(
  alternatives: readonly PatternNode[],
  alphabet: Alphabet,
  isAnchored: boolean,
): Automaton | undefined {
  const builder = new AutomatonBuilder(alphabet);
  const whole = builder.alternation(alternatives);
  if (builder.isUnsupported) return undefined;
  const { next, letters } = builder;
  // A pattern without an anchor is tried at every position: any character leads back to the start.
  if (!isAnchored) addWays(next, 0, 0, 1);
  for (const [state, ways] of whole.first) addWays(next, 0, state, ways);
  const isDone = letters.map((_, state) =>
    state === 0 ? whole.canBeEmptyFreely : whole.freeLast.has(state),
  );
  return { next, letters, isAccepting: isDone };
}

type Ways = ReadonlyMap<number, number>;

/** A part of the automaton: its first and last states, and the number of paths that match the empty string. */
interface Fragment {
  readonly empty: number;
  readonly first: Ways;
  readonly last: Ways;
  /** The same without passing an anchor or a lookaround, which may fail. */
  readonly canBeEmptyFreely: boolean;
  readonly freeLast: ReadonlySet<number>;
}

const none: Ways = new Map();
const emptyFragment: Fragment = {
  empty: 1,
  first: none,
  last: none,
  canBeEmptyFreely: true,
  freeLast: new Set(),
};
const assertion: Fragment = { ...emptyFragment, canBeEmptyFreely: false };

class AutomatonBuilder {
  readonly next: Map<number, number>[] = [new Map()];
  readonly letters: bigint[] = [everyLetter];
  isUnsupported = false;
  readonly #alphabet: Alphabet;

  constructor(alphabet: Alphabet) {
    this.#alphabet = alphabet;
  }

  alternation(alternatives: readonly PatternNode[]): Fragment {
    return alternatives.map((part) => this.#build(part)).reduce(either);
  }

  #build(node: PatternNode): Fragment {
    if (this.isUnsupported) return emptyFragment;
    switch (node.type) {
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
        return this.#character(node.raw);
      case "Alternative":
        return node.elements.reduce<Fragment>(
          (before, part) => this.#join(before, this.#build(part)),
          emptyFragment,
        );
      case "Quantifier":
        return this.#repeat(node.element, node.min, node.max);
      case "Assertion":
        return assertion;
      case "Pattern":
      case "Group":
      case "CapturingGroup":
        if ("modifiers" in node && node.modifiers !== null) break;
        return this.alternation(node.alternatives);
    }
    // Backreferences and inline flags are not analysed.
    this.isUnsupported = true;
    return emptyFragment;
  }

  #character(source: string): Fragment {
    const state = this.letters.length;
    this.isUnsupported ||= state === maxStates;
    this.letters.push(this.#alphabet(source));
    this.next.push(new Map());
    const only = new Map([[state, 1]]);
    return {
      empty: 0,
      first: only,
      last: only,
      canBeEmptyFreely: false,
      freeLast: new Set([state]),
    };
  }

  #join(one: Fragment, other: Fragment): Fragment {
    this.#connect(one, other);
    return {
      empty: bounded(one.empty * other.empty),
      first: sum(one.first, scaled(other.first, one.empty)),
      last: sum(other.last, scaled(one.last, other.empty)),
      canBeEmptyFreely: one.canBeEmptyFreely && other.canBeEmptyFreely,
      freeLast: other.canBeEmptyFreely ? one.freeLast.union(other.freeLast) : other.freeLast,
    };
  }

  #connect(one: Fragment, other: Fragment): void {
    for (const [from, ways] of one.last)
      for (const [to, more] of other.first) addWays(this.next, from, to, ways * more);
  }

  #repeat(body: PatternNode, min: number, max: number): Fragment {
    const optional = max - min;
    if (optional > maxOptional) {
      const loop = this.#loop(body);
      return min === 0 ? optionally(loop) : this.#join(this.#copies(body, min - 1), loop);
    }
    let tail = emptyFragment;
    for (let count = 0; count < optional && !this.isUnsupported; count++)
      tail = optionally(this.#join(this.#build(body), tail));
    return this.#join(this.#copies(body, min), tail);
  }

  /** One or more times. */
  #loop(body: PatternNode): Fragment {
    const part = this.#build(body);
    this.#connect(part, part);
    return part;
  }

  #copies(body: PatternNode, count: number): Fragment {
    let part = emptyFragment;
    for (let copy = 0; copy < count && !this.isUnsupported; copy++)
      part = this.#join(part, this.#build(body));
    return part;
  }
}

/** An engine ends a repetition that matched nothing, so there is one path that matches the empty string. */
const optionally = (part: Fragment): Fragment => ({ ...part, empty: 1, canBeEmptyFreely: true });

const either = (one: Fragment, other: Fragment): Fragment => ({
  empty: bounded(one.empty + other.empty),
  first: sum(one.first, other.first),
  last: sum(one.last, other.last),
  canBeEmptyFreely: one.canBeEmptyFreely || other.canBeEmptyFreely,
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
