// Answers that may be there at once: an embedded engine's are, a remote one's come later.

export type Soon<T> = T | Promise<T>;

/** `await` without giving up the thread when the value is already there: the hot path stays synchronous. */
export function then<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
