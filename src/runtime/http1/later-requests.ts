// Requests that have arrived behind others on their connection: they are begun in later turns of the event loop.

const maxTurnMs = 1;

const waiting: (() => void)[] = [];

/** A turn begins one request of each connection that waits, and takes about a millisecond for all of them. */
export function beginLater(begin: () => void): void {
  if (waiting.push(begin) === 1) setImmediate(beginEach);
}

function beginEach(): void {
  const end = performance.now() + maxTurnMs;
  // A connection that waits again is behind them, for the next turn.
  const due = waiting.length;
  let begun = 0;
  while (begun < due) {
    waiting[begun++]?.();
    if (performance.now() > end) break;
  }
  waiting.splice(0, begun);
  if (waiting.length > 0) setImmediate(beginEach);
}
