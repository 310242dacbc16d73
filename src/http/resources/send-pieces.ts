// Streams a list piece by piece, encoded as Accept-Encoding prefers. Its memory is reserved while it is sent.

import { overloaded } from "../../domain/problems.ts";
import { type Reply, replyOf } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { type BodyPiece, streamOf } from "../body/text-stream.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import type { RequestContext } from "../request/context.ts";
import { encodedFields } from "../response/representation.ts";
import { reserveWhileSent } from "../response/response.ts";

/** `bytes` is how much the pieces hold in memory at once. HEAD takes none of them. */
export function sendPieces(
  context: RequestContext,
  state: Reply,
  bytes: number,
  pieces: AsyncIterable<BodyPiece>,
): Reply | Problem {
  const coding = chooseCoding(context.request.headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const { status, fields, validators } = state;
  const sent = coding === undefined ? fields : encodedFields(fields, coding);
  const isHead = context.request.method === "HEAD";
  const release = reserveWhileSent(context, isHead ? 0 : bytes);
  if (release === undefined) return overloaded;
  const body = streamOf(isHead ? nothing() : pieces, coding, release, context.client);
  return replyOf(status, sent, body, validators);
}

async function* nothing(): AsyncGenerator<BodyPiece> {}
