// Coded bodies of requests, decoded: never past a limit, and never a part for the whole.

import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { Problem } from "../../model/problem.ts";
import type { Coding } from "./codings.ts";
import { ZstdFrame } from "./zstd-frame.ts";

/** A window over this would let a few bytes claim a lot of memory (RFC 9659). */
const maxWindowLog = 23;

const decoders: Readonly<Record<Coding, () => Transform & { readonly bytesWritten: number }>> = {
  gzip: () => zlib.createGunzip(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () =>
    zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: maxWindowLog } }),
};

/** Thrown within a stream, where no value can be returned. */
export class Undecodable extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** How much may come out of what came in. */
export interface Allowance {
  /** At most so many bytes in all. */
  readonly bytes: number;
  /** At most so many times what came in, beyond the first of `free`. */
  readonly ratio?: number;
  readonly free?: number;
  readonly problem: Problem;
}

/** The content as it was before the codings were applied, in this order. Throws Undecodable. */
export function decodeAll(
  source: AsyncIterable<Uint8Array>,
  codings: readonly Coding[],
  allowance: Allowance,
): AsyncIterable<Uint8Array> {
  return codings.toReversed().reduce((from, coding) => decodeOne(from, coding, allowance), source);
}

async function* decodeOne(
  source: AsyncIterable<Uint8Array>,
  coding: Coding,
  { bytes, ratio = Number.POSITIVE_INFINITY, free = 0, problem }: Allowance,
): AsyncGenerator<Uint8Array> {
  const decoder = decoders[coding]();
  const frame = coding === "zstd" ? new ZstdFrame() : undefined;
  let received = 0;
  let made = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      received += chunk.byteLength;
      frame?.add(chunk);
      yield chunk;
    }
  }
  // What goes wrong is thrown to the reader of the decoder.
  pipeline(Readable.from(counted()), decoder).catch(() => {});
  try {
    for await (const chunk of decoder as AsyncIterable<Uint8Array>) {
      made += chunk.byteLength;
      if (made > Math.min(bytes, free + received * ratio)) throw new Undecodable(problem);
      yield chunk;
    }
  } catch (thrown) {
    throw isOfDecoder(thrown) ? new Undecodable(corrupt(coding)) : thrown;
  }
  if (received > 0 && !isWhole(frame, decoder.bytesWritten, received))
    throw new Undecodable(corrupt(coding));
}

/** Bun says nothing of a zstd frame that breaks off, and neither runtime of what follows the end. */
const isWhole = (frame: ZstdFrame | undefined, used: number, received: number): boolean =>
  frame === undefined ? used === received : frame.isWhole;

/** The codes of zlib, Brotli and zstd; what the source throws has others. */
const isOfDecoder = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  "code" in thrown &&
  typeof thrown.code === "string" &&
  /^(?:Z_|ZSTD_|ERR__|ERR_BROTLI|ERR_ZLIB|ERR_PADDING)/.test(thrown.code);

const corrupt = (coding: Coding): Problem =>
  new Problem("invalid-body", `The body is not ${coding} as Content-Encoding says.`, {
    errors: [{ pointer: "", detail: `not one whole and valid ${coding} stream` }],
  });
