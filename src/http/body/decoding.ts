// Decodes request bodies within limits, and rejects truncated ones.

import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { Problem } from "../../model/problem.ts";
import type { Coding } from "../headers/content-coding.ts";
import { ZstdFrame } from "./zstd-frame.ts";

/** With a larger window a few bytes could claim a lot of memory (RFC 9659). */
const maxWindowLog = 23;

const decoders: Readonly<Record<Coding, () => Transform & { readonly bytesWritten: number }>> = {
  gzip: () => zlib.createGunzip(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () =>
    zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: maxWindowLog } }),
};

/** Carries a problem out of a stream. */
export class BodyError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** Beyond `freeBytes`, a body may decode to at most this many times its encoded size. */
export const maxRatio = 200;
export const freeBytes = 1024 * 1024;

/** The limit of a body, both encoded and decoded. */
export interface ByteLimit {
  readonly bytes: number;
  /** How many times its encoded size a large body may decode to. */
  readonly maxRatio?: number;
  readonly problem: Problem;
}

/** Yields the decoded content. Throws `BodyError`. */
export async function* decode(
  source: AsyncIterable<Uint8Array>,
  coding: Coding,
  limit: ByteLimit,
): AsyncGenerator<Uint8Array> {
  const { maxRatio: most = maxRatio } = limit;
  const decoder = decoders[coding]();
  const frame = coding === "zstd" ? new ZstdFrame() : undefined;
  let received = 0;
  let decodedBytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      received += chunk.byteLength;
      frame?.add(chunk);
      yield chunk;
    }
  }
  // The reader of the decoder gets the error.
  pipeline(Readable.from(counted()), decoder).catch(() => {});
  try {
    for await (const chunk of decoder as AsyncIterable<Uint8Array>) {
      decodedBytes += chunk.byteLength;
      if (decodedBytes > limit.bytes) throw new BodyError(limit.problem);
      if (decodedBytes > freeBytes + received * most) throw new BodyError(ratioTooHigh);
      yield chunk;
    }
  } catch (thrown) {
    throw isOfDecoder(thrown) ? new BodyError(corrupt(coding)) : thrown;
  }
  if (!isWhole(frame, decoder.bytesWritten, received)) throw new BodyError(corrupt(coding));
}

const ratioTooHigh = new Problem(
  "content-too-large",
  `The body decodes to more than ${freeBytes} bytes and more than ${maxRatio} times its encoded size. Send it without Content-Encoding.`,
);

/** Bun does not report a truncated zstd frame, and neither runtime an empty one or data after the end. */
const isWhole = (frame: ZstdFrame | undefined, used: number, received: number): boolean =>
  frame === undefined ? used === received : frame.isWhole;

/** Matches the error codes of zlib, Brotli and zstd; the source throws other ones. */
const isOfDecoder = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  "code" in thrown &&
  typeof thrown.code === "string" &&
  /^(?:Z_|ZSTD_|ERR__|ERR_BROTLI|ERR_ZLIB|ERR_PADDING)/.test(thrown.code);

const corrupt = (coding: Coding): Problem =>
  new Problem("invalid-body", `The body is not valid ${coding}, which Content-Encoding names.`, {
    errors: [{ pointer: "", detail: `this is not one complete and valid ${coding} stream` }],
  });
