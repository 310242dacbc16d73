// Loads what a screen shows, and loads it again when its key changes, when asked, and when the server is back.

import { useEffect, useRef, useState } from "preact/hooks";
import { comebacks } from "../api/connection.ts";
import { asProblem, type Problem } from "../api/problem.ts";

export interface Loaded<Value> {
  /** The last value. It stays while the same is loaded again. */
  readonly value: Value | undefined;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface LoadState<Value> {
  readonly key: string;
  readonly value?: Value;
  readonly problem?: Problem;
  readonly isLoading: boolean;
}

/** `key` says what is loaded, such as the path of the request. */
export function useLoad<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
): Loaded<Value> {
  const [state, setState] = useState<LoadState<Value>>({ key, isLoading: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const returns = comebacks.value;
  // Round and returns ask for the same again.
  useEffect(() => {
    const abort = new AbortController();
    setState((former) => ({ ...(former.key === key ? former : {}), key, isLoading: true }));
    latest.current(abort.signal).then(
      (value) => abort.signal.aborted || setState({ key, value, isLoading: false }),
      (error) =>
        abort.signal.aborted ||
        setState((former) => ({ ...former, problem: asProblem(error), isLoading: false })),
    );
    return () => abort.abort();
  }, [key, round, returns]);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload: () => setRound((count) => count + 1),
  };
}
