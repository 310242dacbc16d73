// Several tabs with one storage: one of them does the network work, and all of them hear of it.

import type { CopyQuery, Failure } from "./state.ts";
import type { StoredRecord } from "./storage.ts";

/** What tabs tell each other. */
export interface Message {
  /** What was saved. */
  readonly records?: readonly StoredRecord[];
  /** The copies that this tab shows, by their keys. */
  readonly asked?: readonly (readonly [key: string, query: CopyQuery])[];
  /** A copy to drop, unless another tab shows it. */
  readonly forgotten?: string;
  /** This tab does the network work now. */
  readonly leads?: true;
  /** Somebody wants a round now, and calls it so. */
  readonly now?: string;
  /** There should have been a round by now. */
  readonly isDue?: true;
  /** How the last round has ended, and what it was called. */
  readonly ended?: { readonly failure: Failure; readonly now?: string };
}

export class Tabs {
  readonly #name: string | undefined;
  readonly #channel: BroadcastChannel | undefined;
  readonly #end = new AbortController();

  constructor(name: string | undefined, receive: (message: Message) => void) {
    this.#name = name && `restante/${name}`;
    if (this.#name === undefined || !globalThis.navigator?.locks) return;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }) => receive(data);
  }

  post(message: Message): void {
    if (!this.#end.signal.aborted) this.#channel?.postMessage(message);
  }

  /** Resolves when it is this tab's turn to do the network work; to false, when it is closed before. */
  lead(): Promise<boolean> {
    const name = this.#name;
    const { signal } = this.#end;
    if (name === undefined || !this.#channel) return Promise.resolve(true);
    const closed = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve()),
    );
    return new Promise((resolve) => {
      const hold = () => {
        resolve(true);
        return closed;
      };
      navigator.locks.request(name, { signal }, hold).catch(() => resolve(false));
    });
  }

  close(): void {
    this.#end.abort();
    this.#channel?.close();
  }
}
