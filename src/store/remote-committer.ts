// Sends commits to another process, so that many processes share one writer and one fsync.

import { Outage } from "../model/outage.ts";
import {
  answerErasing,
  type EraseAnswer,
  type EraseMessage,
  type Erasing,
  erasingOver,
} from "./erasure.ts";
import type { Change, Outcome } from "./store.ts";

/** Commits changes on behalf of an engine. */
export interface Committer extends Erasing {
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;
  /** Why the last write failed; undefined when it succeeded. */
  readonly lastError: string | undefined;
  /** Resolves when every request is answered. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Sent to the process that writes. */
export type CommitRequest = { readonly number: number } & (
  | { readonly kind: "commit"; readonly changes: readonly Change[] }
  | EraseMessage
);

type Done = { readonly kind: "outcomes"; readonly outcomes: readonly Outcome[] } | EraseAnswer;

/** Sent back by the process that writes. */
export type CommitReply = { readonly number: number } & (
  | Done
  | { readonly kind: "outage"; readonly reason: Outage["reason"]; readonly message: string }
  | { readonly kind: "bug"; readonly message: string }
);

/** The client side: sends requests and matches answers to them. */
export class RemoteCommitter implements Committer {
  readonly #send: (request: CommitRequest) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<Done>>();
  readonly erase: Erasing["erase"];
  readonly scrub: Erasing["scrub"];
  #number = 0;
  #failure: string | undefined;

  constructor(send: (request: CommitRequest) => void) {
    this.#send = send;
    const { erase, scrub } = erasingOver((request) =>
      this.#ask((number) => ({ ...request, number })),
    );
    this.erase = erase;
    this.scrub = scrub;
  }

  get lastError(): string | undefined {
    return this.#failure;
  }

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const done = await this.#ask((number) => ({ kind: "commit", number, changes }));
    return done.kind === "outcomes" ? done.outcomes : [];
  }

  #ask(requestOf: (number: number) => CommitRequest): Promise<Done> {
    const number = ++this.#number;
    const answer = Promise.withResolvers<Done>();
    this.#waiting.set(number, answer);
    this.#send(requestOf(number));
    return answer.promise;
  }

  /** Called with each answer. */
  receive(answer: CommitReply): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if (answer.kind === "outage") {
      this.#failure = answer.message;
      waiting?.reject(new Outage(answer.reason, answer.message));
    } else if (answer.kind === "bug") waiting?.reject(new Error(answer.message));
    else {
      this.#failure = undefined;
      waiting?.resolve(answer);
    }
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

/** What a process that writes does for others. */
export type CommitOwner = Pick<Committer, "commit" | keyof Erasing>;

/** The server side: does what a request asks for, and returns the answer. */
export async function runCommitRequest(
  owner: CommitOwner,
  request: CommitRequest,
): Promise<CommitReply> {
  const { number } = request;
  try {
    if (request.kind !== "commit") return { number, ...(await answerErasing(owner, request)) };
    return { kind: "outcomes", number, outcomes: await owner.commit(request.changes) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof Outage)) return { kind: "bug", number, message };
    return { kind: "outage", number, reason: error.reason, message };
  }
}
