// What the test action waits for. Its name begins with `_`, so it is not an action.

/** Resolved when the action waits. */
export let waiting = Promise.withResolvers<void>();
/** Resolved when it may go on. */
export let go = Promise.withResolvers<void>();

/** For the next run. */
export const closeGate = (): void => {
  waiting = Promise.withResolvers();
  go = Promise.withResolvers();
};
