// Sends commits to another process, so that many processes share one writer and one fsync.

import { Outage } from "../model/outage.ts";
import type { Change, Outcome } from "./store.ts";

/** Commits changes on behalf of an engine. */
export interface Committer {
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;
  /** Why the last write failed; undefined when it succeeded. */
  readonly lastError: string | undefined;
  /** Resolves when every request is answered. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Sent to the process that writes. */
export interface CommitRequest {
  readonly kind: "commit";
  readonly number: number;
  readonly changes: readonly Change[];
}

/** Sent back by the process that writes. */
export type Answer = { readonly number: number } & (
  | { readonly kind: "outcomes"; readonly outcomes: readonly Outcome[] }
  | { readonly kind: "outage"; readonly reason: Outage["reason"]; readonly message: string }
  | { readonly kind: "bug"; readonly message: string }
);

/** The client side: sends requests and matches answers to them. */
export class RemoteCommitter implements Committer {
  readonly #send: (request: CommitRequest) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly Outcome[]>>();
  #number = 0;
  #failure: string | undefined;

  constructor(send: (request: CommitRequest) => void) {
    this.#send = send;
  }

  get lastError(): string | undefined {
    return this.#failure;
  }

  commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const number = ++this.#number;
    const answer = Promise.withResolvers<readonly Outcome[]>();
    this.#waiting.set(number, answer);
    this.#send({ kind: "commit", number, changes });
    return answer.promise;
  }

  /** Called with each answer. */
  receive(answer: Answer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if (answer.kind === "outcomes") {
      this.#failure = undefined;
      waiting?.resolve(answer.outcomes);
    } else if (answer.kind === "outage") {
      this.#failure = answer.message;
      waiting?.reject(new Outage(answer.reason, answer.message));
    } else waiting?.reject(new Error(answer.message));
  }

  /** Called when the connection is lost: pending changes may or may not have been committed. */
  rejectAll(reason: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Outage("unknown", reason));
  }

  async settled(): Promise<void> {
    await Promise.allSettled([...this.#waiting.values()].map(({ promise }) => promise));
  }

  /** Does nothing: the writer continues for the other processes. */
  async close(): Promise<void> {}
}

/** The server side: commits the changes of a request and returns the answer. */
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
