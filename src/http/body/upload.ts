// A large body as it arrives: decoded, within its limit, and not waited for for ever.

import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../context.ts";
import { readCoding } from "../headers/content-coding.ts";
import { refuseUnacceptable } from "../headers/media-type.ts";
import { readContent } from "./content.ts";
import { Undecodable } from "./decoding.ts";

/** A phone in a tunnel is back by then. */
const silenceMs = 60_000;
/** A large file over a bad link has arrived by then; who sends a byte a minute has not. */
const wholeMs = 4 * 3_600_000;

/** What a body with files may have: the server's limit, or the collection's if that is lower. */
export function maxUploadOf({ services }: RequestContext, rules: Rules | undefined): number {
  const { maxBytes = services.maxUploadBytes } = rules === undefined ? {} : definitionOf(rules);
  return Math.min(maxBytes, services.maxUploadBytes);
}

/** What is wrong with an upload before it is read. */
export function refuseUpload(
  { request: { headers } }: RequestContext,
  maxBytes: number,
  answers: readonly string[],
): Problem | undefined {
  const coding = readCoding(headers);
  if (coding instanceof Problem) return coding;
  if (Number(headers.get("content-length")) > maxBytes) return uploadTooLarge(maxBytes);
  return refuseUnacceptable(headers, answers);
}

export const uploadTooLarge = (maxBytes: number): Problem =>
  new Problem("content-too-large", `The upload is over ${maxBytes} bytes. Nothing was stored.`);

/** The content of the body. Throws `Undecodable` when it cannot go on. */
export async function* arriving(
  context: RequestContext,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const limit = { bytes: maxBytes, problem: uploadTooLarge(maxBytes) };
  for await (const chunk of unlessSilent(readContent(context, limit), silenceMs, wholeMs)) {
    if (chunk instanceof Problem) throw new Undecodable(chunk);
    context.extendTimeout();
    yield chunk;
  }
}

/** Gives up when nothing comes for `quietMs`, or when the end has not come after `totalMs`. */
export async function* unlessSilent<T>(
  source: AsyncGenerator<T>,
  quietMs: number,
  totalMs: number,
): AsyncGenerator<T, void, undefined> {
  const deadline = performance.now() + totalMs;
  let isSilent = false;
  try {
    for (;;) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Undecodable(tooSlow);
      const next = source.next();
      const silence = Promise.withResolvers<never>();
      const giveUp = () => {
        isSilent = true;
        silence.reject(new Undecodable(left < quietMs ? tooSlow : stalled));
      };
      const timer = setTimeout(giveUp, Math.min(quietMs, left));
      const result = await Promise.race([next, silence.promise]).finally(() => clearTimeout(timer));
      if (result.done) return;
      yield result.value;
    }
  } finally {
    const ended = source.return(undefined);
    // A source that is silent does not hear that it should end until it is cut off.
    if (isSilent) ended.catch(() => undefined);
    else await ended;
  }
}

const stalled = new Problem(
  "timeout",
  `Nothing more of the body came for ${silenceMs / 1000} seconds. Nothing was stored.`,
);

const tooSlow = new Problem(
  "timeout",
  `The body did not arrive within ${wholeMs / 3_600_000} hours. Nothing was stored.`,
);
