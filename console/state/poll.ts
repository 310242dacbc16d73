// Asks the server again and again while someone looks at the page.

import { useEffect, useRef } from "preact/hooks";
import { connection } from "../api/connection.ts";
import { session } from "../api/session.ts";

/** Whether someone looks, and the server would answer. */
export const isWatched = (): boolean =>
  !document.hidden && connection.peek() === "online" && session.peek() === "valid";

/** Calls `ask` at once and then every so often. The next call waits for the former to end. */
export function usePolling(everyMs: number, ask: (signal: AbortSignal) => Promise<void>): void {
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    const end = new AbortController();
    const turn = async (): Promise<void> => {
      // A failure is shown by the connection, or by the screen that asks.
      if (isWatched()) await latest.current(end.signal).catch(() => undefined);
      if (!end.signal.aborted) timer = setTimeout(() => void turn(), everyMs);
    };
    let timer = setTimeout(() => void turn(), 0);
    return () => {
      end.abort();
      clearTimeout(timer);
    };
  }, [everyMs]);
}
