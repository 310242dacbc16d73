// Checks the end of chunked bodies, where a runtime reports errors late.

import { setImmediate as nextTurn } from "node:timers/promises";
import { Problem } from "../../model/problem.ts";

export const isChunked = (headers: Headers): boolean => headers.has("transfer-encoding");

/** Rejects announced trailers: none is supported, and whoever announces one relies on it. */
export const checkTrailer = (headers: Headers): Problem | undefined =>
  isChunked(headers) && headers.has("trailer") ? trailerAnnounced : undefined;

/**
 * Rejects a chunked body with data after the last chunk. The `Bun.serve` of a program around us first ends
 * the body and then aborts the request in the same turn of the event loop, with its own 400.
 */
export async function checkBodyEnd({ headers, signal }: Request): Promise<Problem | undefined> {
  if (!isChunked(headers)) return undefined;
  await nextTurn();
  return signal.aborted ? badEnd : undefined;
}

const trailerAnnounced = new Problem(
  "malformed-request",
  "Trailer fields are not supported. Send the request without `Trailer`, and the fields in the header section.",
);

/** Only the log shows it: the client has the runtime's response, or has disconnected. */
const badEnd = new Problem(
  "malformed-request",
  "The chunked body does not end correctly (RFC 9112 §7.1), or the client has disconnected. Nothing was stored.",
);
