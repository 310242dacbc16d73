// Streams a list piece by piece, encoded as Accept-Encoding prefers. Its memory is reserved while it is sent.

import { overloaded } from "../../domain/problems.ts";
import { Problem } from "../../model/problem.ts";
import { type BodyPiece, streamOf } from "../body/text-stream.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import type { RequestContext } from "../request/context.ts";
import { encodedHeaders } from "../response/representation.ts";
import { type ResponseHead, reserveWhileSent, withDate } from "../response/response.ts";

/** `bytes` is how much the pieces hold in memory at once. HEAD takes none of them. */
export function sendPieces(
  context: RequestContext,
  state: ResponseHead,
  bytes: number,
  pieces: AsyncIterable<BodyPiece>,
): Response | Problem {
  const coding = chooseCoding(context.request.headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const headers = coding === undefined ? state.headers : encodedHeaders(state.headers, coding);
  const isHead = context.request.method === "HEAD";
  const release = reserveWhileSent(context, isHead ? 0 : bytes);
  if (release === undefined) return overloaded;
  const body = streamOf(isHead ? nothing() : pieces, coding, release, context.client);
  return withDate(new Response(body, { headers }), state.updatedAt);
}

async function* nothing(): AsyncGenerator<BodyPiece> {}
