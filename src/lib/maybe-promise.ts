// A value or a promise of it: an embedded engine returns values at once, a remote engine returns promises. Reads of either kind.

export type MaybePromise<T> = T | Promise<T>;

/** Like `await`, but calls `next` synchronously when the value is not a promise. The hot path stays synchronous. */
export function then<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What is asked for is known at once where it is read at once; otherwise it is undefined until `loading` has ended. */
export class Lookup<T> {
  readonly #read: (key: string) => MaybePromise<T>;
  readonly #asked = new Set<string>();
  readonly #loading: Promise<unknown>[] = [];
  /** What was read, by its key. */
  readonly found = new Map<string, T>();

  constructor(read: (key: string) => MaybePromise<T>) {
    this.#read = read;
  }

  find(key: string): T | undefined {
    if (this.#asked.has(key)) return this.found.get(key);
    this.#asked.add(key);
    const read = this.#read(key);
    if (read instanceof Promise)
      this.#loading.push(read.then((value) => void this.found.set(key, value)));
    else this.found.set(key, read);
    return this.found.get(key);
  }

  /** Whether nothing was asked for. */
  get isUnused(): boolean {
    return this.#asked.size === 0;
  }

  /** Resolves when all is read that was asked for; undefined when it is. */
  get loading(): Promise<unknown> | undefined {
    return this.#loading.length === 0 ? undefined : Promise.all(this.#loading.splice(0));
  }
}

/** Evaluates, and again as long as `loading` returns what must be read before. */
export const evaluated = <T>(
  evaluate: () => MaybePromise<T>,
  loading: () => Promise<unknown> | undefined,
): MaybePromise<T> =>
  then(evaluate(), (result) => loading()?.then(() => evaluated(evaluate, loading)) ?? result);
