// A value or a promise of it: an embedded engine returns values at once, a remote engine returns promises.

export type MaybePromise<T> = T | Promise<T>;

/** Like `await`, but calls `next` synchronously when the value is not a promise. The hot path stays synchronous. */
export function then<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
