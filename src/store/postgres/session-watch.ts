// Notices that a statement without a deadline gets no answer any more: another connection looks at its session.

/**
 * What a session does: `active`, or when it ended its last statement. `gone`: it has ended.
 * `unreachable`: the server could not be asked.
 */
export type SessionState = string;

/** So many looks in a row must see no change, because answers take time on their way. */
const maxLooks = 4;

/** Calls `onLost` when the session has nothing more to do, or cannot be reached. Returns a function that ends the watch. */
export function watchSession(
  look: () => Promise<SessionState>,
  checkMs: number,
  onLost: () => void,
): () => void {
  let last: SessionState | undefined;
  let looks = 0;
  let isEnded = false;
  const check = async () => {
    const state = await look();
    const isSame = state === last || state === "unreachable";
    looks = state === "active" ? 0 : isSame ? looks + 1 : 1;
    if (state !== "unreachable") last = state;
    if (isEnded) return;
    if (looks >= maxLooks) onLost();
    else schedule();
  };
  let timer: NodeJS.Timeout | undefined;
  const schedule = () => {
    timer = setTimeout(() => void check(), checkMs);
  };
  schedule();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}
