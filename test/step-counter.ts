// Counts the steps that our code takes, exactly: blocks that run, and what built-in functions go through.

import { Session } from "node:inspector";

/** Only on Node: V8 counts how often each block of a script runs. */
export class StepCounter {
  readonly #session = new Session();
  readonly #isCounted: (url: string) => boolean;

  /** Counts the blocks of scripts whose URL is to be counted. */
  constructor(isCounted: (url: string) => boolean) {
    this.#isCounted = isCounted;
    watchBuiltIns();
    this.#session.connect();
    this.#post("Profiler.enable");
    this.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** The steps that are taken until the work is done. */
  async count(work: () => Promise<unknown>): Promise<number> {
    this.#takeBlocks();
    builtInSteps = 0;
    await work();
    const steps = builtInSteps;
    return steps + this.#takeBlocks();
  }

  /** How many blocks have run since the last call. */
  #takeBlocks(): number {
    const { result } = this.#post("Profiler.takePreciseCoverage") as Coverage;
    return result
      .filter(({ url }) => this.#isCounted(url))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0);
  }

  /** The result is available before `post` returns. */
  #post(method: string, parameters: object = {}): unknown {
    let answer: unknown;
    this.#session.post(method, parameters, (error, result) => {
      if (error) throw error;
      answer = result;
    });
    return answer;
  }
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

let builtInSteps = 0;

/** A search for a longer text may go back: then its time grows with the product of both lengths. */
const maxShort = 32;

/** What a call of a built-in function goes through, at worst. */
type Cost = (self: string & unknown[], args: readonly unknown[], result: unknown) => number;

const whole: Cost = ({ length }) => length;

const search: Cost = ({ length }, [needle, from], found) => {
  const size = typeof needle === "string" ? Math.max(1, needle.length) : 1;
  const start = typeof from === "number" ? from : 0;
  const end = typeof found === "number" && found >= 0 ? found + size : length;
  return Math.max(1, end - start) * (size > maxShort ? size : 1);
};

const strings: Readonly<Record<string, Cost>> = {
  ...{ indexOf: search, includes: search, lastIndexOf: search },
  ...{ split: whole, replace: whole, replaceAll: whole, match: whole, matchAll: whole },
  ...{ trim: whole, trimStart: whole, trimEnd: whole, normalize: whole, toWellFormed: whole },
  ...{ toLowerCase: whole, toUpperCase: whole, isWellFormed: whole },
  startsWith: (_, [needle]) => String(needle).length,
  endsWith: (_, [needle]) => String(needle).length,
};

const arrays: Readonly<Record<string, Cost>> = {
  ...{ indexOf: search, includes: search, slice: (_, __, result) => (result as unknown[]).length },
  ...{ splice: whole, shift: whole, unshift: whole, concat: whole, join: whole },
  ...{ reverse: whole, toReversed: whole, toSorted: whole, sort: whole, flat: whole },
};

/**
 * An expression that goes on from its last index takes no steps before it, and that all of them
 * together are linear is shown elsewhere: what counts is what it takes, and one for a failure.
 */
const exec: Cost = (self, [text], result) => {
  const { global, sticky } = self as unknown as RegExp;
  if (Array.isArray(result)) return String(result[0]).length + 1;
  return global || sticky ? 1 : String(text).length;
};

const expressions: Readonly<Record<string, Cost>> = {
  exec,
  test: (_, [text]) => String(text).length,
};

let isWatched = false;

function watchBuiltIns(): void {
  if (isWatched) return;
  isWatched = true;
  watch(String.prototype, strings);
  watch(Array.prototype, arrays);
  watch(RegExp.prototype, expressions);
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

function watch(prototype: object, costs: Readonly<Record<string, Cost>>): void {
  const methods = prototype as Record<string, Method>;
  for (const [name, cost] of Object.entries(costs)) {
    const method = methods[name];
    if (method === undefined) throw new Error(`there is no ${name}`);
    methods[name] = function (...args) {
      const result = method.apply(this, args);
      builtInSteps += cost(this as string & unknown[], args, result);
      return result;
    };
  }
}
