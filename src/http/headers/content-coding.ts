// Content codings (RFC 9110 §8.4): which of them a client takes, and bodies coded and decoded.

import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { Problem } from "../../model/problem.ts";
import { HttpProblem } from "../problem.ts";
import { refuseLong } from "./field-list.ts";

/** The one we like best first, where a client likes them alike. */
export const codings = ["zstd", "br", "gzip"] as const;
export type Coding = (typeof codings)[number];

/** Shorter answers gain nothing: they fit into one packet either way. */
const leastBytes = 1_024;
/** Up to this size it is quicker to code at once than to hand it to another thread. */
const mostAtOnce = 65_536;

/** What a client's Accept-Encoding says of the codings that we have. */
interface Acceptance {
  /** The one to use where it is worth it. */
  readonly best: Coding | undefined;
  /** Whether a body may come as it is. */
  readonly isPlainTaken: boolean;
  readonly taken: ReadonlySet<Coding>;
}

/** Clients of one kind all say the same, and there are few kinds. */
const maxKnown = 100;
const known = new Map<string, Acceptance>();

/** The old name that a recipient must know, too (§8.4.1.3). */
const nameOf = (word: string): string => (word === "x-gzip" ? "gzip" : word);

const item = /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/;

/** The weight that each coding was given; what cannot be read was given none. */
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
  const taken = codings.filter((coding) => weightOf(coding) > 0);
  const [first] = taken.toSorted((one, other) => weightOf(other) - weightOf(one));
  const plain = weights.get("identity");
  const isPlainBetter = plain !== undefined && first !== undefined && plain > weightOf(first);
  return {
    best: isPlainBetter ? undefined : first,
    isPlainTaken: (plain ?? others ?? 1) > 0,
    taken: new Set(taken),
  };
}

function acceptanceOf(field: string): Acceptance {
  const before = known.get(field);
  if (before !== undefined) return before;
  const acceptance = readAcceptance(field);
  if (known.size === maxKnown) known.clear();
  known.set(field, acceptance);
  return acceptance;
}

/** How an answer of this size goes out: coded, or as it is (undefined). */
export function chooseCoding(headers: Headers, bytes: number): Coding | undefined | Problem {
  const field = headers.get("accept-encoding");
  if (field === null) return undefined;
  const tooLong = refuseLong("Accept-Encoding", field);
  if (tooLong !== undefined) return tooLong;
  const { best, isPlainTaken } = acceptanceOf(field);
  if (best !== undefined && (bytes >= leastBytes || !isPlainTaken)) return best;
  return isPlainTaken ? undefined : noCoding;
}

/** Whether the client takes what has this coding; who says nothing of codings takes none. */
export function takesCoding(headers: Headers, coding: Coding): boolean {
  const field = headers.get("accept-encoding");
  if (field === null || refuseLong("Accept-Encoding", field) !== undefined) return false;
  return acceptanceOf(field).taken.has(coding);
}

const noCoding = new Problem(
  "not-acceptable",
  `Accept-Encoding excludes all there is: ${codings.join(", ")} and identity.`,
);

/** How each is made. */
interface Encoder {
  readonly now: (bytes: Uint8Array) => Buffer;
  readonly later: (bytes: Uint8Array) => Promise<Buffer>;
  /** All that was written comes out at once: who waits for a line must not wait for the next one. */
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

const encoders: Readonly<Record<Coding, Encoder>> = {
  gzip: {
    now: (bytes) => zlib.gzipSync(bytes, gzipOptions),
    later: (bytes) => gzip(bytes, gzipOptions),
    stream: () => zlib.createGzip({ ...gzipOptions, flush: constants.Z_SYNC_FLUSH }),
  },
  br: {
    now: (bytes) => zlib.brotliCompressSync(bytes, brotliOptions),
    later: (bytes) => brotli(bytes, brotliOptions),
    stream: () =>
      zlib.createBrotliCompress({ ...brotliOptions, flush: constants.BROTLI_OPERATION_FLUSH }),
  },
  zstd: {
    now: (bytes) => zlib.zstdCompressSync(bytes, zstdOptions),
    later: (bytes) => zstd(bytes, zstdOptions),
    stream: () => zlib.createZstdCompress({ ...zstdOptions, flush: constants.ZSTD_e_flush }),
  },
};

export function encode(text: string, coding: Coding): MaybePromise<Uint8Array<ArrayBuffer>> {
  const { now, later } = encoders[coding];
  const bytes = Buffer.from(text);
  return (bytes.length > mostAtOnce ? later(bytes) : now(bytes)) as MaybePromise<
    Uint8Array<ArrayBuffer>
  >;
}

/** The texts as they come, coded piece by piece. */
export async function* encodeAll(
  texts: AsyncIterable<string>,
  coding: Coding,
): AsyncGenerator<Uint8Array> {
  const encoder = encoders[coding].stream();
  // What goes wrong is thrown to the reader of the encoder.
  pipeline(Readable.from(texts), encoder).catch(() => {});
  yield* encoder as AsyncIterable<Uint8Array>;
}

/** The coding of a request's body. Only one is taken, so that a small body cannot grow twice. */
export function readCoding(headers: Headers): Coding | undefined | Problem {
  const field = headers.get("content-encoding");
  if (field === null) return undefined;
  const [name, ...others] = field
    .split(",")
    .map((piece) => nameOf(piece.trim().toLowerCase()))
    .filter((piece) => piece !== "" && piece !== "identity");
  if (name === undefined) return undefined;
  if (others.length > 0) return undecodable("more than one coding");
  return isCoding(name) ? name : undecodable(`the coding "${name}"`);
}

const isCoding = (name: string): name is Coding => (codings as readonly string[]).includes(name);

/** RFC 9110 §12.5.3 has the field that says what is taken instead. */
const undecodable = (what: string): Problem =>
  new HttpProblem("unsupported-media-type", `A body with ${what} cannot be read here.`, {
    "accept-encoding": [...codings, "identity"].join(", "),
  });
