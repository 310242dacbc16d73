// Computes how the number of paths of a text through an automaton grows, which is how often a backtracking engine retries.

import type { Automaton } from "./automaton.ts";

/** This many paths are harmless when they do not grow with the text. */
const maxWays = 1_000;
/** The limit of the analysis. Beyond it an automaton counts as unsafe. */
const maxSteps = 2_000_000;

export class Ambiguity {
  readonly #next: readonly (readonly (readonly [state: number, ways: number])[])[];
  readonly #letters: readonly bigint[];
  /** The strongly connected component of each state, numbered from the end of the automaton. */
  readonly #component: number[] = [];
  readonly #components: (readonly number[])[] = [];
  #steps = 0;

  constructor({ next, letters, isAccepting: isDone }: Automaton) {
    const cannotFail = statesThatCannotFail(next, isDone);
    this.#letters = letters;
    this.#next = next.map((ways, state) =>
      cannotFail[state] ? [] : [...ways].filter(([to]) => !cannotFail[to]),
    );
    this.#findComponents();
  }

  /** The degree of ambiguity: 0 is constant, 1 linear, 2 quadratic or more. Returns undefined when it is exponential or unknown. */
  degree(): number | undefined {
    if (this.#components.some((states) => this.#isExponential(states))) return undefined;
    const pairs = this.#pumpedPairs();
    const ways = this.#maxPathsBound();
    const isMany = ways > maxWays && (pairs.length > 0 || this.#maxSimultaneousPaths() > maxWays);
    if (isMany || this.#steps > maxSteps) return undefined;
    const isWorse = pairs.some(([, to]) => pairs.some(([from]) => this.#reaches(to, from)));
    return pairs.length === 0 ? 0 : isWorse ? 2 : 1;
  }

  /** Tarjan's algorithm. */
  #findComponents(): void {
    const order: number[] = [];
    const low: number[] = [];
    const stack: number[] = [];
    const visit = (state: number): void => {
      const index = order.push(state) - 1;
      low[state] = index;
      stack.push(state);
      for (const [to] of this.#next[state] ?? []) {
        if (low[to] === undefined) visit(to);
        if (this.#component[to] === undefined) low[state] = Math.min(low[state] ?? 0, low[to] ?? 0);
      }
      if (low[state] !== index) return;
      const states = stack.splice(stack.indexOf(state));
      for (const member of states) this.#component[member] = this.#components.length;
      this.#components.push(states);
    };
    visit(0);
  }

  #isLoop(states: readonly number[]): boolean {
    const [first] = states;
    return states.length > 1 || (this.#next[first ?? 0] ?? []).some(([to]) => to === first);
  }

  #within(state: number): readonly (readonly [number, number])[] {
    return (this.#next[state] ?? []).filter(
      ([to]) => this.#component[to] === this.#component[state],
    );
  }

  /** Whether one word leads from a state back to itself on two paths. */
  #isExponential(states: readonly number[]): boolean {
    if (!this.#isLoop(states)) return false;
    if (states.some((state) => this.#within(state).some(([, ways]) => ways > 1))) return true;
    const same = states.map((state) => [state, state] as const);
    const apart = this.#reachedPairs(same, (state) => this.#within(state));
    const back = new Map(states.map((state) => [state, [] as [number, number][]]));
    for (const state of states)
      for (const [to, ways] of this.#within(state)) back.get(to)?.push([state, ways]);
    const together = this.#reachedPairs(same, (state) => back.get(state) ?? [], true);
    return [...apart].some(([key, isDifferent]) => isDifferent && together.has(key));
  }

  /** The pairs of states that one word reaches from the start pairs, and whether the two states differ. */
  #reachedPairs(
    starts: readonly (readonly [number, number])[],
    step: (state: number) => readonly (readonly [number, number])[],
    isBackward = false,
  ): ReadonlyMap<number, boolean> {
    const size = this.#letters.length;
    const reached = new Map<number, boolean>();
    const open = [...starts];
    for (const [one, other] of starts) reached.set(one * size + other, false);
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const [one, other] = pair;
      if (isBackward && !this.#shareLetter(one, other)) continue;
      for (const [nextOne] of step(one))
        for (const [nextOther] of step(other)) {
          const key = nextOne * size + nextOther;
          if (++this.#steps > maxSteps) return reached;
          if (reached.has(key) || !(isBackward || this.#shareLetter(nextOne, nextOther))) continue;
          reached.set(key, nextOne !== nextOther);
          open.push([nextOne, nextOther]);
        }
    }
    return reached;
  }

  #shareLetter(one: number, other: number, third = other): boolean {
    const letters = this.#letters;
    return ((letters[one] ?? 0n) & (letters[other] ?? 0n) & (letters[third] ?? 0n)) !== 0n;
  }

  /** Pairs of components p and q where one word leads from p to p, from p to q and from q to q. */
  #pumpedPairs(): readonly (readonly [number, number])[] {
    const loops = [...this.#components.entries()].filter(([, states]) => this.#isLoop(states));
    return loops.flatMap(([from, starts]) =>
      loops
        .filter(([to]) => to !== from && this.#reaches(from, to))
        .filter(([, ends]) => starts.some((p) => ends.some((q) => this.#isPumped(p, q))))
        .map(([to]) => [from, to] as const),
    );
  }

  #isPumped(p: number, q: number): boolean {
    const size = this.#letters.length;
    const keyOf = (a: number, b: number, c: number): number => (a * size + b) * size + c;
    const goal = keyOf(p, q, q);
    const seen = new Set<number>();
    const open: (readonly [number, number, number])[] = [[p, p, q]];
    for (let triple = open.pop(); triple !== undefined; triple = open.pop()) {
      const [a, b, c] = triple;
      for (const [nextA] of this.#within(a))
        for (const [nextC] of this.#within(c))
          for (const [nextB] of this.#shareLetter(nextA, nextC) ? (this.#next[b] ?? []) : []) {
            const key = keyOf(nextA, nextB, nextC);
            if (++this.#steps > maxSteps) return true;
            if (seen.has(key) || !this.#shareLetter(nextA, nextB, nextC)) continue;
            if (key === goal) return true;
            seen.add(key);
            open.push([nextA, nextB, nextC]);
          }
    }
    return false;
  }

  /** Whether a path leads from one component to the other, or they are the same. */
  #reaches(from: number, to: number): boolean {
    const seen = new Set([from]);
    for (const component of seen)
      for (const state of this.#components[component] ?? [])
        for (const [next] of this.#next[state] ?? []) seen.add(this.#component[next] ?? 0);
    return seen.has(to);
  }

  /** An upper limit of the paths of one word through the parts without loops. */
  #maxPathsBound(): number {
    const ways: number[] = [];
    // Components are numbered from the end, so the successors are already counted.
    for (const [component, states] of this.#components.entries()) {
      const counts = states.flatMap((state) => {
        const leaving = (this.#next[state] ?? []).filter(
          ([to]) => this.#component[to] !== component,
        );
        return leaving.map(([to]) =>
          leaving
            .filter(([other]) => this.#shareLetter(to, other))
            .reduce(
              (sum, [other, count]) => sum + count * (ways[this.#component[other] ?? 0] ?? 1),
              0,
            ),
        );
      });
      ways.push(Math.max(1, ...counts));
    }
    return ways.at(-1) ?? 1;
  }

  /** The maximum number of simultaneous paths of one word, found by trying all words. */
  #maxSimultaneousPaths(): number {
    const bits = [...new Set(this.#letters)].reduce(
      (all, letters) => all | (letters < 0n ? 0n : letters),
      0n,
    );
    const alphabet = Array.from(bits.toString(2)).map((_, bit) => 1n << BigInt(bit));
    const seen = new Set<string>();
    const open: (readonly (readonly [number, number])[])[] = [[[0, 1]]];
    let most = 1;
    for (let states = open.pop(); states !== undefined; states = open.pop()) {
      const key = states.join(";");
      if (seen.has(key)) continue;
      seen.add(key);
      most = Math.max(
        most,
        states.reduce((sum, [, ways]) => sum + ways, 0),
      );
      if (most > maxWays || this.#steps > maxSteps) return Number.POSITIVE_INFINITY;
      for (const letter of alphabet) open.push(this.#after(states, letter));
    }
    return most;
  }

  /** The states after a letter, each with its number of paths. */
  #after(states: readonly (readonly [number, number])[], letter: bigint) {
    const after = new Map<number, number>();
    for (const [state, ways] of states)
      for (const [to, more] of this.#next[state] ?? []) {
        this.#steps++;
        if (((this.#letters[to] ?? 0n) & letter) !== 0n)
          after.set(to, (after.get(to) ?? 0) + ways * more);
      }
    return [...after].sort(([one], [other]) => one - other);
  }
}

/** States from which the match cannot fail, because every reachable state accepts. */
function statesThatCannotFail(
  next: Automaton["next"],
  isDone: readonly boolean[],
): readonly boolean[] {
  const isSure = [...isDone];
  for (let isChanged = true; isChanged; ) {
    isChanged = false;
    for (const [state, ways] of next.entries())
      if (isSure[state] && [...ways.keys()].some((to) => !isSure[to])) {
        isSure[state] = false;
        isChanged = true;
      }
  }
  return isSure;
}
