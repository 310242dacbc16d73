// Calls listeners soon after commits. One call can report several commits.

/** How often listeners are called anyway: the notification of a commit elsewhere can be lost. */
const checkMs = 1_000;

/** Follows the commits of other processes, and returns a function that ends it. */
export type Follow = (onCommit: () => void) => () => void;

export class CommitListeners {
  readonly #follow: Follow;
  readonly #listeners = new Set<() => void>();
  #unfollow: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isScheduled = false;

  constructor(follow: Follow) {
    this.#follow = follow;
  }

  /** Returns a function that removes the listener. */
  add(listener: () => void): () => void {
    // A new function, so that the same listener can be added twice.
    const added = () => listener();
    this.#listeners.add(added);
    if (this.#timer === undefined) this.#start();
    return () => {
      this.#listeners.delete(added);
      if (this.#listeners.size === 0) this.close();
    };
  }

  /** Called after a commit. It costs nothing without listeners. */
  notify(): void {
    if (this.#isScheduled || this.#listeners.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (const listener of this.#listeners) listener();
    });
  }

  /** No listener is called any more. */
  close(): void {
    this.#listeners.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  #start(): void {
    this.#timer = setInterval(() => this.notify(), checkMs);
    this.#timer.unref();
    this.#unfollow = this.#follow(() => this.notify());
  }
}
