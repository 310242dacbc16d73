// Defines how resources and subjects are erased with every trace, and what is told of it.

import type { ResourceAddress } from "../model/reference.ts";
import type { Outcome, ResourceChange } from "./change.ts";

/** What is erased in one transaction: all of it or nothing. */
export interface Erasure {
  /** The removals, and what follows from them. No trace of these resources is left, nor of the changes. */
  readonly changes: readonly ResourceChange[];
  /** Resources that do not exist. If they existed, their traces are erased. */
  readonly removed: readonly ResourceAddress[];
  /** Its tokens and keys are erased, and what tells that it owned something. Its resources are in `changes`. */
  readonly subject?: string | undefined;
  /** Counts what would be erased, and undoes it. */
  readonly isTrial?: boolean;
}

export interface TraceCounts {
  /** Removals that feeds told of. */
  readonly removals: number;
  /** Former owners and former states. */
  readonly formerStates: number;
  readonly keys: number;
}

export interface ErasedRows extends TraceCounts {
  readonly collection: string;
  readonly resources: number;
}

export type Erased =
  /** Only collections of which something was erased are listed. */
  | {
      readonly kind: "erased";
      readonly collections: readonly ErasedRows[];
      readonly tokens: number;
    }
  /** Nothing was erased, because this change failed. */
  | Extract<Outcome, { kind: "none" }>;

/**
 * How far a scrub is. `rewrite`: the next step rewrites `bytes`, and writes wait for it. `blocked`: a
 * reader still needs what was erased; the next step tries again. `by` names it when it is another program.
 */
export type ScrubState =
  | { readonly kind: "rows" | "done" }
  | { readonly kind: "blocked"; readonly by?: string | undefined }
  | { readonly kind: "rewrite"; readonly bytes: number };

export interface ScrubOptions {
  /** Whether a scrub begins; otherwise it goes on. */
  readonly isFirst: boolean;
  /** Also rewrites what cannot be rewritten while others read it, so that they wait. */
  readonly isFull: boolean;
}

export interface Erasing {
  /** Erases rows. Their bytes can still be in unused parts of the files until a scrub is done. */
  erase(erasure: Erasure): Promise<Erased>;
  /** Does one step of the work that removes the bytes of erased and deleted rows from the files. */
  scrub(options: ScrubOptions): Promise<ScrubState>;
}

/** The calls as messages to the process or thread that owns the store. */
export type EraseMessage =
  | { readonly kind: "erase"; readonly erasure: Erasure }
  | { readonly kind: "scrub"; readonly options: ScrubOptions };

export type EraseAnswer =
  | { readonly kind: "erased"; readonly erased: Erased }
  | { readonly kind: "scrubbed"; readonly state: ScrubState };

/** Sends the calls to another process or thread. */
export const erasingOver = (
  send: (
    request: EraseMessage,
  ) => Promise<readonly unknown[] | { readonly kind: string } | EraseAnswer>,
): Erasing => ({
  async erase(erasure) {
    const answer = await send({ kind: "erase", erasure });
    if ("erased" in answer) return answer.erased;
    throw new TypeError("the answer to an erasure is another one");
  },
  async scrub(options) {
    const answer = await send({ kind: "scrub", options });
    if ("state" in answer) return answer.state;
    throw new TypeError("the answer to a scrub is another one");
  },
});

/** Answers a message of another process. */
export const answerErasing = async (owner: Erasing, request: EraseMessage): Promise<EraseAnswer> =>
  request.kind === "erase"
    ? { kind: "erased", erased: await owner.erase(request.erasure) }
    : { kind: "scrubbed", state: await owner.scrub(request.options) };
