// Streams a large upload with its size limit and timeouts.

import { afterReading } from "../../lib/turns.ts";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { Problem } from "../../model/problem.ts";
import { readCoding } from "../headers/content-coding.ts";
import { checkAccept } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { readContent } from "./content.ts";
import { BodyError } from "./decoding.ts";

/** Long enough for a short loss of a mobile connection. */
const idleTimeoutMs = 60_000;
/** Long enough for a large file over a slow link. */
const totalTimeoutMs = 4 * 3_600_000;

/** Returns the lower of the server's and the collection's limit. */
export function maxUploadBytesOf({ services }: RequestContext, rules: Rules | undefined): number {
  const { maxBytes = services.maxUploadBytes } = rules === undefined ? {} : definitionOf(rules);
  return Math.min(maxBytes, services.maxUploadBytes);
}

/** Checks the headers of an upload before its body is read. */
export function checkUpload(
  { request: { headers } }: RequestContext,
  maxBytes: number,
  responseTypes: readonly string[],
): Problem | undefined {
  const coding = readCoding(headers);
  if (coding instanceof Problem) return coding;
  if (Number(headers.get("content-length")) > maxBytes) return uploadTooLarge(maxBytes);
  return checkAccept(headers, responseTypes);
}

/** Returns the size of a single file; 0 when it is not known. */
export const expectedBytes = (headers: Headers): number =>
  headers.has("content-encoding") ? 0 : Number(headers.get("content-length"));

export const uploadTooLarge = (maxBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `The upload is larger than ${maxBytes} bytes. Nothing was stored.`,
  );

/** Yields the content of the body. Throws `BodyError`. */
export async function* uploadChunks(
  context: RequestContext,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const limit = { bytes: maxBytes, problem: uploadTooLarge(maxBytes) };
  for await (const chunk of withTimeouts(readContent(context, limit))) {
    if (chunk instanceof Problem) throw new BodyError(chunk);
    yield chunk;
  }
}

/** Frees the chunks of a body, where the runtime can. A decoder may use its chunks again. */
export function released(
  { request, client: { releaseChunk } }: RequestContext,
  chunks: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const isDecoded = request.headers.has("content-encoding");
  return releaseChunk === undefined || isDecoded ? chunks : releasing(chunks, releaseChunk);
}

/** Frees each chunk when the next one is asked for. */
async function* releasing(
  chunks: AsyncIterable<Uint8Array>,
  release: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    release(chunk);
  }
}

/**
 * Throws when nothing arrives for `idleMs`, or the end does not arrive within `totalMs`, or the signal is
 * aborted.
 */
export async function* withTimeouts<T>(
  source: AsyncGenerator<T>,
  idleMs = idleTimeoutMs,
  totalMs = totalTimeoutMs,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const deadline = performance.now() + totalMs;
  let isStalled = false;
  try {
    for (;;) {
      const left = deadline - performance.now();
      if (left <= 0) throw new BodyError(tooSlow);
      const next = source.next();
      const timeout = Promise.withResolvers<never>();
      const giveUp = (problem: Problem) => {
        isStalled = true;
        timeout.reject(new BodyError(problem));
      };
      const problem = left < idleMs ? tooSlow : stalled;
      const stop = afterTime(Math.min(idleMs, left), () => giveUp(problem));
      const abort = () => giveUp(superseded);
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
      const result = await Promise.race([next, timeout.promise]).finally(() => {
        stop();
        signal?.removeEventListener("abort", abort);
      });
      if (result.done) return;
      yield result.value;
    }
  } finally {
    const ended = source.return(undefined);
    // A stalled source does not end before its connection is closed, so it is not awaited.
    if (isStalled) ended.catch(() => undefined);
    else await ended;
  }
}

const stepMs = 1_000;

/**
 * Calls back after this time and after reading, unless it is stopped before. Of a time in which this process
 * was held up, only one step counts.
 */
function afterTime(ms: number, act: () => void): () => void {
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (left: number) => {
    if (isStopped) return;
    if (left <= 0) act();
    else timer = setTimeout(() => afterReading(() => wait(left - stepMs)), Math.min(left, stepMs));
  };
  wait(ms);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** The client has most likely given up this request. */
export const superseded = new Problem(
  "conflict",
  "Another request has continued, completed or cancelled this upload. Ask for its offset with HEAD.",
);

const stalled = new Problem(
  "timeout",
  `No data of the body arrived for ${idleTimeoutMs / 1000} seconds. Nothing was stored.`,
);

const tooSlow = new Problem(
  "timeout",
  `The body did not arrive within ${totalTimeoutMs / 3_600_000} hours. Nothing was stored.`,
);
