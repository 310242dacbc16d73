// Whether a pattern can run away: how the time of a backtracking engine grows with the length of a text.

import { type Alphabet, type Automaton, alphabetOf, automatonOf } from "./automaton.ts";
import { type Pattern, readPattern } from "./pattern.ts";

/** The time grows with the text, with its square, or faster: then it can hang the server. */
export type Growth = "linear" | "square" | "runaway";

/** So many ways through a pattern without loops are harmless. */
const maxWays = 1_000;
/** So much is looked at before a pattern counts as too intricate. */
const maxSteps = 2_000_000;

/** How bad it can get for a pattern that compiles; what cannot be judged counts as the worst. */
export function growthOf(source: string): Growth {
  const pattern = readPattern(source);
  const alphabet = alphabetOf(source, [...new Set(sourcesOf(pattern))]);
  const degree = degreeOf(pattern, alphabet, isAnchored(pattern));
  if (degree === undefined || degree > 1) return "runaway";
  return degree === 1 ? "square" : "linear";
}

function sourcesOf(pattern: Pattern): readonly string[] {
  return pattern.kind === "character" ? [pattern.source] : partsOf(pattern).flatMap(sourcesOf);
}

function partsOf(pattern: Pattern): readonly Pattern[] {
  if ("parts" in pattern) return pattern.parts;
  return "body" in pattern ? [pattern.body] : [];
}

/** Whether it can only match from the start of the text. */
function isAnchored(pattern: Pattern): boolean {
  switch (pattern.kind) {
    case "edge":
      return pattern.isStart;
    case "sequence":
      return pattern.parts[0] !== undefined && isAnchored(pattern.parts[0]);
    case "choice":
      return pattern.parts.every(isAnchored);
    default:
      return false;
  }
}

const hasLoop = (pattern: Pattern): boolean =>
  (pattern.kind === "repeat" && pattern.max === Number.POSITIVE_INFINITY) ||
  partsOf(pattern).some(hasLoop);

/** 0 for linear, 1 for the square, 2 for worse; undefined when it is not known. */
function degreeOf(pattern: Pattern, alphabet: Alphabet, isFixed: boolean): number | undefined {
  const automaton = automatonOf(pattern, alphabet, isFixed);
  const own = automaton && new Judge(automaton).degree();
  const inner = looksIn(pattern, isFixed).map(({ body, isBehind, isOnce }) => {
    const degree = isBehind && hasLoop(body) ? undefined : degreeOf(body, alphabet, true);
    return degree !== undefined && hasLoop(body) && !isOnce ? degree + 1 : degree;
  });
  const degrees = [own, ...inner].filter((degree) => degree !== undefined);
  return degrees.length === inner.length + 1 ? Math.max(...degrees) : undefined;
}

interface Look {
  readonly body: Pattern;
  readonly isBehind: boolean;
  /** Whether it is tried at one place only. */
  readonly isOnce: boolean;
}

function looksIn(pattern: Pattern, isOnce: boolean): readonly Look[] {
  if (pattern.kind === "look") return [{ ...pattern, isOnce }];
  const parts = partsOf(pattern);
  if (pattern.kind !== "sequence") {
    const isSameOnce = isOnce && pattern.kind === "choice";
    return parts.flatMap((part) => looksIn(part, isSameOnce));
  }
  const start = parts.findIndex(({ kind }) => kind !== "edge" && kind !== "look");
  return parts.flatMap((part, index) => looksIn(part, isOnce && (start < 0 || index <= start)));
}

class Judge {
  readonly #next: readonly (readonly (readonly [state: number, ways: number])[])[];
  readonly #letters: readonly bigint[];
  /** The strongly connected component of each state, numbered from the end of the automaton. */
  readonly #component: number[] = [];
  readonly #components: (readonly number[])[] = [];
  #steps = 0;

  constructor({ next, letters, isDone }: Automaton) {
    const isSure = sureStates(next, isDone);
    this.#letters = letters;
    this.#next = next.map((ways, state) =>
      isSure[state] ? [] : [...ways].filter(([to]) => !isSure[to]),
    );
    this.#findComponents();
  }

  degree(): number | undefined {
    const isWild = this.#components.some((states) => this.#isExponential(states));
    if (isWild || this.#mostWays() > maxWays) return undefined;
    const pairs = this.#pumped();
    if (this.#steps > maxSteps) return undefined;
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

  /** Whether some word leads from a state back to itself in two ways. */
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

  /** The pairs of states that one word reaches from those given; and whether the two differ. */
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
      if (isBackward && !this.#share(one, other)) continue;
      for (const [nextOne] of step(one))
        for (const [nextOther] of step(other)) {
          const key = nextOne * size + nextOther;
          if (++this.#steps > maxSteps) return reached;
          if (reached.has(key) || !(isBackward || this.#share(nextOne, nextOther))) continue;
          reached.set(key, nextOne !== nextOther);
          open.push([nextOne, nextOther]);
        }
    }
    return reached;
  }

  #share(one: number, other: number, third = other): boolean {
    const letters = this.#letters;
    return ((letters[one] ?? 0n) & (letters[other] ?? 0n) & (letters[third] ?? 0n)) !== 0n;
  }

  /** Components p and q so that one word leads from p to p, from p to q and from q to q. */
  #pumped(): readonly (readonly [number, number])[] {
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
          for (const [nextB] of this.#share(nextA, nextC) ? (this.#next[b] ?? []) : []) {
            const key = keyOf(nextA, nextB, nextC);
            if (++this.#steps > maxSteps) return true;
            if (seen.has(key) || !this.#share(nextA, nextB, nextC)) continue;
            if (key === goal) return true;
            seen.add(key);
            open.push([nextA, nextB, nextC]);
          }
    }
    return false;
  }

  /** Whether a way leads from one component to another, or they are the same. */
  #reaches(from: number, to: number): boolean {
    const seen = new Set([from]);
    for (const component of seen)
      for (const state of this.#components[component] ?? [])
        for (const [next] of this.#next[state] ?? []) seen.add(this.#component[next] ?? 0);
    return seen.has(to);
  }

  /** At most so many ways does one word have through the parts that do not repeat. */
  #mostWays(): number {
    const ways: number[] = [];
    // Components are numbered from the end, so what comes next has been counted.
    for (const [component, states] of this.#components.entries()) {
      const counts = states.flatMap((state) => {
        const leaving = (this.#next[state] ?? []).filter(
          ([to]) => this.#component[to] !== component,
        );
        return leaving.map(([to]) =>
          leaving
            .filter(([other]) => this.#share(to, other))
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
}

/** States from which no step can fail, because wherever a text ends or differs the match is done. */
function sureStates(next: Automaton["next"], isDone: readonly boolean[]): readonly boolean[] {
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
