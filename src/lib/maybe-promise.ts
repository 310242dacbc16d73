// Answers that may be there at once: an embedded engine's are, a remote one's come later.

export type MaybePromise<T> = T | Promise<T>;

/** `await` without giving up the thread when the value is already there: the hot path stays synchronous. */
export function then<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
