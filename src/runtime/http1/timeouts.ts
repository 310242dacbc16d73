// Decides when a connection has waited for too long.

import { bodyTimedOut, type HttpError } from "./http-errors.ts";

/** The header section must arrive, and an idle connection must get a request, in this time. */
const headTimeoutMs = 10_000;
/** A body or a response must move on in this time. */
const inactivityTimeoutMs = 120_000;
/** The limit for a whole request, long enough for a large file over a slow connection. */
const requestTimeoutMs = 14_400_000;
/** After the last response the client may be inactive or keep sending for so long. */
const lingerInactivityMs = 2_000;
const lingerMs = 10_000;
/** When the server stops, an idle connection may get one more request in this time: it may be on its way. */
export const lastRequestMs = 200;
/**
 * Most clients that send no more have left, so nobody waits for a long read or an import. The clock has steps
 * of a second.
 */
const endedMs = 1_500;

interface Waiting {
  readonly now: number;
  /** When the connection became idle or began to close, or when the request began. */
  readonly since: number;
  /** When bytes were received or sent last. */
  readonly activeAt: number;
  readonly isClosing: boolean;
  /** Whether there is no request. */
  readonly isWaiting: boolean;
  /** Whether the rest of a body is missing. */
  readonly isReceiving: boolean;
  /** Whether the client has to read before more can be sent. */
  readonly isSending: boolean;
  /** When the client has closed its sending side, if its request may take long and has no response yet. */
  readonly endedAt: number | undefined;
}

/**
 * Returns `destroy` or an error to respond with, and `leave` when only the request is given up: the responses
 * before it may be on their way. Another request that is being handled has no limit here.
 */
export function findTimeout(waiting: Waiting): "destroy" | "leave" | HttpError | undefined {
  const { now, since, activeAt, isClosing, isWaiting, isReceiving, isSending, endedAt } = waiting;
  const waitedMs = now - since;
  const inactiveMs = now - activeAt;
  if (isSending) return inactiveMs > inactivityTimeoutMs ? "destroy" : undefined;
  if (isClosing)
    return inactiveMs > lingerInactivityMs || waitedMs > lingerMs ? "destroy" : undefined;
  if (endedAt !== undefined && now - Math.max(endedAt, since) > endedMs) return "leave";
  if (isWaiting) return waitedMs > headTimeoutMs ? bodyTimedOut : undefined;
  if (!isReceiving) return undefined;
  return inactiveMs > inactivityTimeoutMs || waitedMs > requestTimeoutMs ? bodyTimedOut : undefined;
}
