// Reads request bodies within their limits, and checks their headers and JSON.

import { overloaded } from "../../domain/problems.ts";
import { scanJson } from "../../lib/json/scan.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { takeReceivedBody } from "../../lib/received-request.ts";
import { isWrittenHere } from "../../lib/reply.ts";
import { type Draft, readDraft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { readCoding } from "../headers/content-coding.ts";
import { type DigestCheck, readDigest } from "../headers/content-digest.ts";
import {
  type AcceptedTypes,
  checkAccept,
  checkJsonType,
  createTypes,
  jsonTypes,
  readContentType,
} from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { BodyError, type ByteLimit, decode } from "./decoding.ts";
import { checkBodyEnd, checkTrailer } from "./framing.ts";

/** Rejects a body by Content-Length before it is read. */
export function checkContentLength({ request, services }: RequestContext): Problem | undefined {
  const declared = request.headers.get("content-length");
  return Number(declared) > services.maxBodyBytes ? tooLarge(services.maxBodyBytes) : undefined;
}

/** Reads the whole decoded body. A small one has mostly arrived, and nothing is awaited then. */
export function readBody(context: RequestContext): MaybePromise<Uint8Array | Problem> {
  const { request } = context;
  const { headers } = request;
  const rejected = checkContentLength(context);
  if (rejected !== undefined) return rejected;
  const isPlain = !headers.has("content-encoding") && !headers.has("content-digest");
  if (!isPlain || !isSmall(headers)) return readCounted(context);
  return takeReceivedBody(request) ?? readSmall(request);
}

async function readSmall(request: Request): Promise<Uint8Array | Problem> {
  try {
    // Not every Request has the faster method.
    return isWrittenHere(request)
      ? await request.bytes()
      : new Uint8Array(await request.arrayBuffer());
  } catch (thrown) {
    if (request.signal.aborted) return bodyAborted;
    throw thrown;
  }
}

/** Counts the bytes as they are decoded. */
async function readCounted(context: RequestContext): Promise<Uint8Array | Problem> {
  const { services } = context;
  const limit = { bytes: services.maxBodyBytes, problem: tooLarge(services.maxBodyBytes) };
  const chunks: Uint8Array[] = [];
  for await (const chunk of readContent(context, limit)) {
    if (chunk instanceof Problem) return chunk;
    if (!context.memory.take(chunk.byteLength)) return overloaded;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Bodies up to this size are read at once and not counted. */
const smallBodyBytes = 16_384;

const isSmall = (headers: Headers): boolean => {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= smallBodyBytes;
};

/**
 * Yields the decoded content of a body within its limit, and verifies its digest at the end. A problem
 * is the last value.
 */
export async function* readContent(
  context: RequestContext,
  limit: ByteLimit,
): AsyncGenerator<Uint8Array | Problem> {
  const { request } = context;
  const trailer = checkTrailer(request.headers);
  if (trailer !== undefined) return yield trailer;
  const coding = readCoding(request.headers);
  if (coding instanceof Problem) return yield coding;
  const digest = readDigest(request.headers);
  if (digest instanceof Problem) return yield digest;
  try {
    const sent = received(context, digest, limit);
    yield* coding === undefined ? sent : countWindow(context, decode(sent, coding, limit), coding);
    const mismatch = digest?.verify();
    if (mismatch !== undefined) yield mismatch;
  } catch (thrown) {
    if (thrown instanceof BodyError) yield thrown.problem;
    else if (request.signal.aborted) yield bodyAborted;
    else throw thrown;
  }
}

/** The largest window of each decoder. */
const windowBytes = { gzip: 32_768, zstd: 8_388_608, br: 16_777_216 } as const;

/** Counts the window of the decoder as memory of the request. */
async function* countWindow(
  { memory }: RequestContext,
  decoded: AsyncIterable<Uint8Array>,
  coding: keyof typeof windowBytes,
): AsyncGenerator<Uint8Array> {
  let room: number = windowBytes[coding];
  for await (const chunk of decoded) {
    const bytes = Math.min(room, chunk.byteLength);
    if (bytes > 0 && !memory.take(bytes)) throw new BodyError(overloaded);
    room -= bytes;
    yield chunk;
  }
}

/** Yields the bytes as they arrive, before decoding. */
export async function* received(
  { request }: RequestContext,
  digest: DigestCheck | undefined,
  { bytes, problem }: ByteLimit,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > bytes) throw new BodyError(problem);
    digest?.add(chunk);
    yield chunk;
  }
  const badEnd = await checkBodyEnd(request);
  if (badEnd !== undefined) throw new BodyError(badEnd);
}

/** Reads and ignores a body; returns its problem, if any. */
export async function skipBody(context: RequestContext): Promise<Problem | undefined> {
  const read = await readBody(context);
  return read instanceof Problem ? read : undefined;
}

/** Returns whether the headers say that there is no body (RFC 9112 §6.3). */
export function hasNoBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return (length === null || length === "0") && headers.get("transfer-encoding") === null;
}

export const tooLarge = (limitBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `The body is larger than ${limitBytes} bytes. Nothing was stored.`,
  );

/** Mostly seen in the log only: the client has usually disconnected. */
export const bodyAborted = new Problem(
  "malformed-request",
  "The body was aborted. Nothing was stored.",
);

/** Checks the headers of a JSON body before it is read. */
export function checkJsonBody(
  context: RequestContext,
  accepted: AcceptedTypes,
): Problem | undefined {
  const { headers } = context.request;
  return (
    (hasNoBody(headers) ? emptyBody : undefined) ??
    checkJsonType(headers, accepted) ??
    checkContentLength(context) ??
    checkAccept(headers, jsonTypes)
  );
}

/** Checks the headers of a form before it is read. A form without fields has no body. */
export function checkFormBody(context: RequestContext): Problem | undefined {
  const { headers } = context.request;
  const type = readContentType(headers, createTypes);
  return (
    (type instanceof Problem ? type : undefined) ??
    checkContentLength(context) ??
    checkAccept(headers, formResponseTypes)
  );
}

/** Forms get JSON, or a page for a browser. */
export const formResponseTypes = [...jsonTypes, "text/html"];

export function readFields(bytes: Uint8Array): Draft | Problem {
  if (bytes.byteLength === 0) return emptyBody;
  const draft = readDraft(bytes);
  return "fields" in draft ? draft : invalidBody(draft);
}

/** Reads the text of any JSON value, such as a patch. */
export function readText(bytes: Uint8Array | Problem): string | Problem {
  if (bytes instanceof Problem) return bytes;
  if (bytes.byteLength === 0) return emptyBody;
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  const errors = scanJson(text);
  return errors.length > 0 ? invalidBody(errors) : text;
}

export const emptyBody = new Problem("invalid-body", "The body is empty; send a JSON object.", {
  errors: [{ pointer: "", detail: "a JSON object is needed" }],
});

export const invalidBody = (errors: Problem["errors"]): Problem =>
  new Problem("invalid-body", "The body is not valid; `errors` lists each error.", {
    errors: errors ?? [],
  });

export const rejectPartialPut = ({ request }: RequestContext): Problem | undefined =>
  request.headers.has("content-range") ? partialPut : undefined;

const partialPut = new Problem(
  "malformed-request",
  "PUT with Content-Range is not supported (RFC 9110 §14.5). Use PATCH to change a part of a resource.",
);

export const idInPost = new Problem(
  "invalid-body",
  "The server chooses the id of a resource created by POST.",
  {
    errors: [
      { pointer: "/id", detail: "leave the id out, or PUT to /{collection}/{id} to choose it" },
    ],
  },
);
