// Negotiates content codings (RFC 9110 §8.4) and encodes bodies.

import type { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { RecentMap } from "../../lib/recent-map.ts";
import { Problem } from "../../model/problem.ts";
import { checkFieldLength } from "./field-list.ts";
import { HttpProblem } from "./http-problem.ts";

/** In order of the server's preference, for codings with equal weight. */
export const codings = ["zstd", "br", "gzip"] as const;
export type Coding = (typeof codings)[number];

/** Shorter responses fit into one packet anyway. */
const minBytes = 1_024;
/** Up to this size, encoding on this thread is faster than on another one. */
const maxSyncBytes = 65_536;

/** The result of an Accept-Encoding field. */
interface Acceptance {
  /** The coding to use when the body is long enough. */
  readonly best: Coding | undefined;
  /** Whether the body may be sent without a coding. */
  readonly acceptsIdentity: boolean;
  readonly accepted: ReadonlySet<Coding>;
}

/** Clients send few different values, so the results are cached. */
const maxCached = 100;
const cache = new RecentMap<string, Acceptance>(maxCached);

/** The old name is equivalent (§8.4.1.3). */
const nameOf = (word: string): string => (word === "x-gzip" ? "gzip" : word);

const item = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/;

/** Returns the weight of each coding; invalid items are ignored. */
function weightsIn(field: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const piece of field.toLowerCase().split(",")) {
    const [, name, weight = "1"] = item.exec(piece) ?? [];
    if (name !== undefined) weights.set(nameOf(name), Number(weight));
  }
  return weights;
}

function readAcceptance(field: string): Acceptance {
  const weights = weightsIn(field);
  const others = weights.get("*");
  const weightOf = (coding: Coding) => weights.get(coding) ?? others ?? 0;
  const accepted = codings.filter((coding) => weightOf(coding) > 0);
  // Every client that sends `*` knows gzip, and some know no other.
  const named = accepted.filter((coding) => weights.has(coding));
  const unnamed = accepted.filter((coding) => !weights.has(coding)).toReversed();
  const [first] = [...named, ...unnamed].toSorted((one, other) => weightOf(other) - weightOf(one));
  const plain = weights.get("identity");
  const isPlainBetter = plain !== undefined && first !== undefined && plain > weightOf(first);
  return {
    best: isPlainBetter ? undefined : first,
    acceptsIdentity: (plain ?? others ?? 1) > 0,
    accepted: new Set(accepted),
  };
}

function acceptanceOf(field: string): Acceptance | Problem {
  const cached = cache.get(field);
  if (cached !== undefined) return cached;
  const tooLong = checkFieldLength("Accept-Encoding", field);
  if (tooLong !== undefined) return tooLong;
  const acceptance = readAcceptance(field);
  cache.set(field, acceptance);
  return acceptance;
}

/** Chooses the coding of a response of this size; undefined for none. */
export function chooseCoding(headers: Headers, bytes: number): Coding | undefined | Problem {
  const field = headers.get("accept-encoding");
  if (field === null) return undefined;
  const acceptance = acceptanceOf(field);
  if (acceptance instanceof Problem) return acceptance;
  const { best, acceptsIdentity } = acceptance;
  if (best !== undefined && (bytes >= minBytes || !acceptsIdentity)) return best;
  return acceptsIdentity ? undefined : codingNotAcceptable;
}

/** Returns whether the client accepts a coding; without Accept-Encoding it accepts none. */
export function acceptsCoding(headers: Headers, coding: Coding): boolean {
  const field = headers.get("accept-encoding");
  const acceptance = field === null ? undefined : acceptanceOf(field);
  return acceptance !== undefined && "accepted" in acceptance && acceptance.accepted.has(coding);
}

const codingNotAcceptable = new Problem(
  "not-acceptable",
  `Accept-Encoding excludes every supported coding: ${codings.join(", ")} and identity.`,
);

/** The ways to apply a coding. */
interface Encoder {
  readonly sync: (bytes: Uint8Array) => Buffer;
  readonly async: (bytes: Uint8Array) => Promise<Buffer>;
  /** Flushes after each write, so that a client gets each line at once. */
  readonly stream: () => Transform;
}

const { constants } = zlib;
const gzipOptions = { level: 4 };
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
const [gzip, brotli, zstd] = [
  promisify<Uint8Array, object, Buffer>(zlib.gzip),
  promisify<Uint8Array, object, Buffer>(zlib.brotliCompress),
  promisify<Uint8Array, object, Buffer>(zlib.zstdCompress),
];

/**
 * The encoder is full after each piece, so it is ended when the last one is encoded. If it were ended before, it
 * would end twice, and zstd would add an empty frame, which some clients do not accept.
 */
const pieceByPiece = { writableHighWaterMark: 1 };

const encoders: Readonly<Record<Coding, Encoder>> = {
  gzip: {
    sync: (bytes) => zlib.gzipSync(bytes, gzipOptions),
    async: (bytes) => gzip(bytes, gzipOptions),
    stream: () =>
      zlib.createGzip({ ...gzipOptions, ...pieceByPiece, flush: constants.Z_SYNC_FLUSH }),
  },
  br: {
    sync: (bytes) => zlib.brotliCompressSync(bytes, brotliOptions),
    async: (bytes) => brotli(bytes, brotliOptions),
    stream: () =>
      zlib.createBrotliCompress({
        ...brotliOptions,
        ...pieceByPiece,
        flush: constants.BROTLI_OPERATION_FLUSH,
      }),
  },
  zstd: {
    sync: (bytes) => zlib.zstdCompressSync(bytes, zstdOptions),
    async: (bytes) => zstd(bytes, zstdOptions),
    stream: () =>
      zlib.createZstdCompress({
        ...zstdOptions,
        ...pieceByPiece,
        flush: constants.ZSTD_e_flush,
      }),
  },
};

export function encode(text: string, coding: Coding): MaybePromise<Uint8Array<ArrayBuffer>> {
  const { sync, async } = encoders[coding];
  const bytes = Buffer.from(text);
  return (bytes.length > maxSyncBytes ? async(bytes) : sync(bytes)) as MaybePromise<
    Uint8Array<ArrayBuffer>
  >;
}

/** Encodes a stream of texts and bytes piece by piece. */
export async function* encodeStream(
  pieces: AsyncIterable<string | Uint8Array>,
  coding: Coding,
): AsyncGenerator<Uint8Array> {
  const encoder = encoders[coding].stream();
  // The reader of the encoder gets the error.
  pipeline(pieces, encoder).catch(() => {});
  yield* encoder as AsyncIterable<Uint8Array>;
}

/** Reads the coding of a request body. Only one is accepted, so that a small body cannot expand twice. */
export function readCoding(headers: Headers): Coding | undefined | Problem {
  const field = headers.get("content-encoding");
  if (field === null) return undefined;
  const [name, ...others] = field
    .split(",")
    .map((piece) => nameOf(piece.trim().toLowerCase()))
    .filter((piece) => piece !== "" && piece !== "identity");
  if (name === undefined) return undefined;
  if (others.length > 0) return unsupportedCoding("more than one coding");
  return isCoding(name) ? name : unsupportedCoding(`the coding "${name}"`);
}

const isCoding = (name: string): name is Coding => (codings as readonly string[]).includes(name);

/** Lists the supported codings in Accept-Encoding (RFC 9110 §12.5.3). */
const unsupportedCoding = (what: string): Problem =>
  new HttpProblem("unsupported-media-type", `A body with ${what} is not supported.`, {
    "accept-encoding": [...codings, "identity"].join(", "),
  });
