// The client of a request, as the runtime knows it and the application uses it.

import type { MaybePromise } from "./maybe-promise.ts";
import type { Reply } from "./reply.ts";

export interface Client {
  /** The address of the connection's peer; empty when it is not known. */
  peerAddress(): string;
  /** Exists where the runtime can send a response such as 104 before the final one. */
  readonly sendInterim?: SendInterim | undefined;
  /** Exists where the runtime can free a chunk of a body that is no longer needed. */
  readonly releaseChunk?: ((chunk: Uint8Array) => void) | undefined;
  /** Whether a chunk of a response is sent before the next one is read, so that its memory is free then. */
  readonly sendsOneByOne?: boolean;
}

export type InterimFields = Readonly<Record<string, string>>;

export type SendInterim = (status: number, headers: InterimFields) => void;

/** Handles a request; returns the reply directly when nothing has to be awaited. */
export type Fetch = (request: Request, client: Client) => MaybePromise<Reply>;

/** The client of a request that was not received. */
export const noClient: Client = { peerAddress: () => "" };
