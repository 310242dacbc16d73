// The end of a chunked body: faults behind it that the runtime reports after it has handed the body over.

import { setImmediate as nextTurn } from "node:timers/promises";
import { Problem } from "../../model/problem.ts";

export const isChunked = (headers: Headers): boolean => headers.has("transfer-encoding");

/** Refuses announced trailers: no trailer means anything here, and Bun answers 400 when one arrives. */
export const refuseTrailer = (headers: Headers): Problem | undefined =>
  isChunked(headers) && headers.has("trailer") ? trailerAnnounced : undefined;

/**
 * Refuses a chunked body when something other than its end follows the last chunk. Bun ends the body
 * first, and then aborts the request in the same turn of the event loop, with a 400 of its own.
 */
export async function refuseBadEnd({ headers, signal }: Request): Promise<Problem | undefined> {
  if (!isChunked(headers)) return undefined;
  await nextTurn();
  return signal.aborted ? badEnd : undefined;
}

const trailerAnnounced = new Problem(
  "malformed-request",
  "Trailer fields are not taken. Send the request without `Trailer`, and its fields in the header section.",
);

/** Only the log sees it: the client has got the runtime's answer, or is gone. */
const badEnd = new Problem(
  "malformed-request",
  "The chunked body does not end as it should (RFC 9112 §7.1), or its sender has left. Nothing was stored.",
);
