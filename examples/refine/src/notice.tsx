// The last message of Refine, in a corner of the page, where screen readers find it.

import type { NotificationProvider, OpenNotificationParams } from "@refinedev/core";
import { useSyncExternalStore } from "react";

let last: OpenNotificationParams | undefined;
const listeners = new Set<() => void>();

function set(next: OpenNotificationParams | undefined): void {
  last = next;
  for (const listener of listeners) listener();
}

export const notificationProvider: NotificationProvider = {
  open: set,
  close: () => set(undefined),
};

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Refine has the text of an error in `description`. */
export function Notice() {
  const notice = useSyncExternalStore(subscribe, () => last);
  return (
    <div className="notice" role="status">
      {notice && (
        <p className={notice.type}>
          {notice.type === "error" ? (notice.description ?? notice.message) : notice.message}{" "}
          <button type="button" onClick={() => set(undefined)}>
            Close
          </button>
        </p>
      )}
    </div>
  );
}
