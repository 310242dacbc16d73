// Decodes the bodies of requests, never past a limit; a body that is cut off is not taken for a whole one.

import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { Problem } from "../../model/problem.ts";
import type { Coding } from "../headers/content-coding.ts";
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

/** A body may decode to this many times the bytes that were sent, beyond `freeBytes`. */
export const maxRatio = 200;
export const freeBytes = 1024 * 1024;

/** The limit for the bytes of a body, as it is sent and decoded. */
export interface ByteLimit {
  readonly bytes: number;
  readonly problem: Problem;
}

/** The content before the coding was applied. Throws `Undecodable`. */
export async function* decode(
  source: AsyncIterable<Uint8Array>,
  coding: Coding,
  limit: ByteLimit,
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
      if (made > limit.bytes) throw new Undecodable(limit.problem);
      if (made > freeBytes + received * maxRatio) throw new Undecodable(grownTooMuch);
      yield chunk;
    }
  } catch (thrown) {
    throw isOfDecoder(thrown) ? new Undecodable(corrupt(coding)) : thrown;
  }
  if (received > 0 && !isWhole(frame, decoder.bytesWritten, received))
    throw new Undecodable(corrupt(coding));
}

const grownTooMuch = new Problem(
  "content-too-large",
  `The body decodes to more than ${freeBytes} bytes and ${maxRatio} times what was sent. Send it without Content-Encoding.`,
);

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
