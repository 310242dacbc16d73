// Commits handed over to another process: so that many processes share one writer and one fsync.

import { type Change, Outage, type Outcome } from "./store.ts";

/** What an engine needs of whoever writes for it. */
export interface Committer {
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;
  /** Why the last attempt to write failed, if it did. */
  readonly trouble: string | undefined;
  /** When all that was sent is answered. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** From the process that asks to the one that writes. */
export interface CommitRequest {
  readonly kind: "commit";
  readonly number: number;
  readonly changes: readonly Change[];
}

/** Back again. */
export type Answer = { readonly number: number } & (
  | { readonly kind: "outcomes"; readonly outcomes: readonly Outcome[] }
  | { readonly kind: "outage"; readonly reason: Outage["reason"]; readonly message: string }
  | { readonly kind: "bug"; readonly message: string }
);

/** The end of the process that asks. */
export class RemoteCommitter implements Committer {
  readonly #send: (errand: CommitRequest) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly Outcome[]>>();
  #number = 0;
  #trouble: string | undefined;

  constructor(send: (errand: CommitRequest) => void) {
    this.#send = send;
  }

  get trouble(): string | undefined {
    return this.#trouble;
  }

  commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const number = ++this.#number;
    const answer = Promise.withResolvers<readonly Outcome[]>();
    this.#waiting.set(number, answer);
    this.#send({ kind: "commit", number, changes });
    return answer.promise;
  }

  /** To be called with what comes back. */
  receive(answer: Answer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if (answer.kind === "outcomes") {
      this.#trouble = undefined;
      waiting?.resolve(answer.outcomes);
    } else if (answer.kind === "outage") {
      this.#trouble = answer.message;
      waiting?.reject(new Outage(answer.reason, answer.message));
    } else waiting?.reject(new Error(answer.message));
  }

  /** Nobody answers any more: what was sent may or may not have been committed. */
  lose(reason: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Outage("unknown", reason));
  }

  async settled(): Promise<void> {
    await Promise.allSettled([...this.#waiting.values()].map(({ promise }) => promise));
  }

  /** Whoever writes goes on for the others. */
  async close(): Promise<void> {}
}

/** The end of the process that writes. */
export async function runCommitRequest(
  commit: Committer["commit"],
  { number, changes }: CommitRequest,
): Promise<Answer> {
  try {
    return { kind: "outcomes", number, outcomes: await commit(changes) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof Outage)) return { kind: "bug", number, message };
    return { kind: "outage", number, reason: error.reason, message };
  }
}
