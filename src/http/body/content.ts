// Reading a request's body: what is wrong before it is read, within its limit, and with its JSON.

import { overloaded } from "../../domain/problems.ts";
import { scanJson } from "../../lib/json/scan.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { type Draft, readDraft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../context.ts";
import { readCoding } from "../headers/content-coding.ts";
import { type DigestCheck, readDigest } from "../headers/content-digest.ts";
import {
  jsonTypes,
  readContentType,
  refuseUnacceptable,
  refuseUnlessJson,
  type Taken,
  takenByCreate,
} from "../headers/media-type.ts";
import { type ByteLimit, decode, Undecodable } from "./decoding.ts";
import { refuseBadEnd, refuseTrailer } from "./framing.ts";

/** Refuses by Content-Length, before a byte of the body is read. */
export function refuseTooLarge({ request, services }: RequestContext): Problem | undefined {
  const declared = request.headers.get("content-length");
  return Number(declared) > services.maxBodyBytes ? tooLarge(services.maxBodyBytes) : undefined;
}

/** The whole body, decoded; what has no declared length is counted while it is read. */
export async function readBody(context: RequestContext): Promise<Uint8Array | Problem> {
  const { request, services } = context;
  const { headers } = request;
  const refused = refuseTooLarge(context);
  if (refused !== undefined) return refused;
  const isPlain = !headers.has("content-encoding") && !headers.has("content-digest");
  try {
    if (isPlain && isSmall(headers)) return new Uint8Array(await request.arrayBuffer());
  } catch (thrown) {
    if (request.signal.aborted) return cutOff;
    throw thrown;
  }
  const limit = { bytes: services.maxBodyBytes, problem: tooLarge(services.maxBodyBytes) };
  const chunks: Uint8Array[] = [];
  for await (const chunk of readContent(context, limit)) {
    if (chunk instanceof Problem) return chunk;
    if (!context.memory.take(chunk.byteLength)) return overloaded;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Bodies up to this size are read at once, and are not counted. */
const smallBodyBytes = 16_384;

const isSmall = (headers: Headers): boolean => {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= smallBodyBytes;
};

/**
 * The content of a body as it arrives: decoded, within what is allowed, and at its end compared with
 * its digest. A problem is the last thing that comes.
 */
export async function* readContent(
  context: RequestContext,
  limit: ByteLimit,
): AsyncGenerator<Uint8Array | Problem> {
  const { request } = context;
  const trailer = refuseTrailer(request.headers);
  if (trailer !== undefined) return yield trailer;
  const coding = readCoding(request.headers);
  if (coding instanceof Problem) return yield coding;
  const digest = readDigest(request.headers);
  if (digest instanceof Problem) return yield digest;
  try {
    const sent = received(context, digest, limit);
    yield* coding === undefined ? sent : countWindow(context, decode(sent, coding, limit), coding);
    const mismatch = digest?.refuse();
    if (mismatch !== undefined) yield mismatch;
  } catch (thrown) {
    if (thrown instanceof Undecodable) yield thrown.problem;
    else if (request.signal.aborted) yield cutOff;
    else throw thrown;
  }
}

/** So much of what it has made a decoder keeps at most. */
const windowBytes = { gzip: 32_768, zstd: 8_388_608, br: 16_777_216 } as const;

/** Counts what the decoder keeps as held by the request. */
async function* countWindow(
  { memory }: RequestContext,
  decoded: AsyncIterable<Uint8Array>,
  coding: keyof typeof windowBytes,
): AsyncGenerator<Uint8Array> {
  let room: number = windowBytes[coding];
  for await (const chunk of decoded) {
    const bytes = Math.min(room, chunk.byteLength);
    if (bytes > 0 && !memory.take(bytes)) throw new Undecodable(overloaded);
    room -= bytes;
    yield chunk;
  }
}

/** The content as it comes, before anything is decoded. */
async function* received(
  { request, extendTimeout }: RequestContext,
  digest: DigestCheck | undefined,
  { bytes, problem }: ByteLimit,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    extendTimeout();
    if (length > bytes) throw new Undecodable(problem);
    digest?.add(chunk);
    yield chunk;
  }
  const badEnd = await refuseBadEnd(request);
  if (badEnd !== undefined) throw new Undecodable(badEnd);
}

/** Reads a body that means nothing to its end, and says what is wrong with it. */
export async function skipBody(context: RequestContext): Promise<Problem | undefined> {
  const read = await readBody(context);
  return read instanceof Problem ? read : undefined;
}

/** Whether the framing says that there is no body at all (RFC 9112 §6.3). */
export function hasNoBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return (length === null || length === "0") && headers.get("transfer-encoding") === null;
}

export const tooLarge = (limitBytes: number): Problem =>
  new Problem("content-too-large", `The body is over ${limitBytes} bytes. Nothing was stored.`);

/** Seldom seen by anyone but the log: who stops sending has mostly stopped listening. */
export const cutOff = new Problem("malformed-request", "The body broke off. Nothing was stored.");

/** What is wrong with a body before it is read. */
export function refuseBody(context: RequestContext, taken: Taken): Problem | undefined {
  const { headers } = context.request;
  return (
    (hasNoBody(headers) ? emptyBody : undefined) ??
    refuseUnlessJson(headers, taken) ??
    refuseTooLarge(context) ??
    refuseUnacceptable(headers, jsonTypes)
  );
}

/** What is wrong with a form before it is read. One without fields has no body. */
export function refuseForm(context: RequestContext): Problem | undefined {
  const { headers } = context.request;
  const type = readContentType(headers, takenByCreate);
  return (
    (type instanceof Problem ? type : undefined) ??
    refuseTooLarge(context) ??
    refuseUnacceptable(headers, formAnswers)
  );
}

/** A program is answered with JSON, a person's browser with a page. */
export const formAnswers = [...jsonTypes, "text/html"];

export function readFields(bytes: Uint8Array): Draft | Problem {
  if (bytes.byteLength === 0) return emptyBody;
  const draft = readDraft(bytes);
  return "fields" in draft ? draft : invalidBody(draft);
}

/** A body that may be any JSON value, as a patch may. */
export function readText(bytes: Uint8Array | Problem): string | Problem {
  if (bytes instanceof Problem) return bytes;
  if (bytes.byteLength === 0) return emptyBody;
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  const faults = scanJson(text);
  return faults.length > 0 ? invalidBody(faults) : text;
}

export const emptyBody = new Problem("invalid-body", "The body is empty; send a JSON object.", {
  errors: [{ pointer: "", detail: "a JSON object is needed" }],
});

export const invalidBody = (errors: Problem["errors"]): Problem =>
  new Problem("invalid-body", "The body is not valid; `errors` names each fault.", {
    errors: errors ?? [],
  });

export const idInPost = new Problem(
  "invalid-body",
  "The server decides the id of what is POSTed.",
  {
    errors: [
      { pointer: "/id", detail: "leave the id out, or PUT to /{collection}/{id} to choose it" },
    ],
  },
);
