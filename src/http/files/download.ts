// Handles GET of a file: sends all bytes or ranges, with headers that make it safe to open.

import { overloaded, preconditionFailed } from "../../domain/problems.ts";
import { dateOf, fileAt } from "../../domain/resources.ts";
import { fileReplaced, type Signed } from "../../domain/signed-urls.ts";
import { canBePlain } from "../../lib/plain-response.ts";
import { releasedStream } from "../../lib/released-stream.ts";
import { definitionOf } from "../../model/definition.ts";
import type { StoredFile } from "../../model/file.ts";
import { Outage } from "../../model/outage.ts";
import { Problem } from "../../model/problem.ts";
import { isSafeToShow, servedType } from "../body/file-type.ts";
import {
  checkIfMatch,
  httpDate,
  isNotModified,
  isPreconditionFailed,
  type Validators,
} from "../headers/conditional.ts";
import { declinesDigest, writeDigest } from "../headers/content-digest.ts";
import { cleanFileName, writeDisposition } from "../headers/content-disposition.ts";
import { type ByteRange, contentRange, rangesOf, unsatisfiable } from "../headers/range.ts";
import type { RequestContext } from "../request/context.ts";
import { invalid } from "../request/request-target.ts";
import { createResponse, setCaching, smallResponseBytes, withDate } from "../response/response.ts";
import { writeByteRanges } from "./byteranges.ts";
import { type FileParameters, readFileParameters, readPictureRequest } from "./parameters.ts";
import { describePicture, renderPicture } from "./pictures.ts";

/** Keeps a file from running scripts and from acting as a page of this origin. */
const sandbox = "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

export async function getFile(context: RequestContext): Promise<Response | Problem> {
  const parameters = readFileParameters(context.searchParams);
  if (parameters instanceof Problem) return parameters;
  const isRedirecting = readRedirect(context, parameters.redirect);
  if (isRedirecting instanceof Problem) return isRedirecting;
  const original = await find(context);
  if (original instanceof Problem) return original;
  const found = await renderIfAsked(context, original, parameters);
  if (found === undefined) return findAgain(context, original.part);
  if (found instanceof Problem) return found;
  const { headers: requestHeaders } = context.request;
  const { updatedAt, headers } = found;
  const invalidIfMatch = checkIfMatch(requestHeaders);
  if (invalidIfMatch !== undefined) return invalidIfMatch;
  if (isPreconditionFailed(requestHeaders, found)) return preconditionFailed;
  const answer = isNotModified(requestHeaders, found)
    ? new Response(null, { status: 304, headers })
    : ((isRedirecting ? await redirect(context, found, parameters.download) : undefined) ??
      (await answerBytes(context, found, parameters.download)));
  return answer instanceof Problem ? answer : withDate(answer, updatedAt);
}

const maxRedirectSeconds = 60;

function readRedirect(
  { collection, request }: RequestContext,
  text: string | undefined,
): boolean | Problem {
  const fail = (detail: string) => invalid([{ parameter: "redirect", detail }]);
  if (text === undefined || text === "false") return false;
  if (text !== "true") return fail("must be true or false");
  if (collection.rules === undefined || !definitionOf(collection.rules).presignedRedirects)
    return fail(`needs "presignedRedirects": true in the definition of "${collection.name}"`);
  // The URL is good for GET only.
  return request.method === "GET";
}

/**
 * Returns undefined where the storage has no URLs of its own, for a rendered picture, and in the last second
 * of the signed URL or token that it was asked for with, which it must not outlive.
 */
async function redirect(
  { services, collection, signed, principal }: RequestContext,
  { part, bytes, headers }: FoundFile,
  download: string | undefined,
): Promise<Response | Problem | undefined> {
  const expiresAt =
    signed?.expiresAt ?? principal.credential?.expiresAt ?? Number.POSITIVE_INFINITY;
  const secondsLeft = Math.floor((expiresAt - Date.now()) / 1000);
  if (bytes !== undefined || secondsLeft < 1) return undefined;
  // A presigned URL has no sandbox. What browsers could run is an attachment in any case.
  const url = await services.uploads.link(collection, part, {
    expiresInSeconds: Math.min(maxRedirectSeconds, secondsLeft),
    type: servedType(part.type),
    disposition: dispositionOf(part, download),
    cacheControl: headers.get("Cache-Control") ?? "no-store",
  });
  if (url === undefined || url instanceof Problem) return url;
  const answer = new Headers(services.commonHeaders);
  answer.set("Location", url);
  answer.set("Cache-Control", "private, no-store");
  return new Response(null, { status: 307, headers: answer });
}

interface FoundFile extends Validators {
  readonly part: StoredFile;
  /** The bytes, when they are made from those of the file. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly updatedAt: number;
  /** The headers of a 304; a 200 and a 206 add more. */
  readonly headers: Headers;
}

async function find(context: RequestContext): Promise<FoundFile | Problem> {
  const { services, collection } = context;
  const shown = await services.resources.find(collection, context.param("id"));
  if (shown instanceof Problem) return shown;
  const part = fileAt(shown, context.param("name"));
  if (part instanceof Problem) return part;
  if (context.signed !== undefined && context.signed.fileKey !== part.key) return fileReplaced;
  const etag = `"${part.sha256}"`;
  const { updatedAt, ...date } = dateOf(shown.resource, part);
  const headers = new Headers(services.commonHeaders);
  if (context.signed === undefined) setCaching(headers, shown.mask);
  else headers.set("Cache-Control", signedCache(context.signed));
  headers.set("ETag", etag);
  headers.set("Last-Modified", httpDate(updatedAt));
  headers.set("Accept-Ranges", "bytes");
  headers.set("Content-Security-Policy", sandbox);
  // Whether changes share a second is shown only with their times.
  const isDateExact = shown.mask.showsUpdates && date.isDateExact;
  return { part, etag, updatedAt, isDateExact, headers };
}

/** The same URL never has other bytes. */
const signedCache = ({ expiresAt }: Signed): string =>
  `private, max-age=${Math.max(0, Math.floor((expiresAt - Date.now()) / 1000))}, immutable`;

async function answerBytes(
  context: RequestContext,
  found: FoundFile,
  download: string | undefined,
): Promise<Response | Problem> {
  const { request } = context;
  const { part, headers } = found;
  const ranges = rangesOf(request, found, part.size);
  if (ranges === "unsatisfiable") return unsatisfiable(part.size);
  headers.set("Content-Type", servedType(part.type));
  headers.set("Content-Disposition", dispositionOf(part, download));
  if (!declinesDigest(request.headers, "want-repr-digest"))
    headers.set("Repr-Digest", writeDigest(part.sha256));
  if (ranges !== undefined && ranges.length > 1) return answerRanges(context, found, ranges);
  const [range = { start: 0, end: part.size }] = ranges ?? [];
  headers.set("Content-Length", String(range.end - range.start));
  if (ranges !== undefined) headers.set("Content-Range", contentRange(range, part.size));
  const status = ranges === undefined ? 200 : 206;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  if (ranges === undefined && !declinesDigest(request.headers, "want-content-digest"))
    headers.set("Content-Digest", writeDigest(part.sha256));
  const { bytes: made } = found;
  if (made !== undefined)
    return createResponse(context, made.subarray(range.start, range.end), { status, headers });
  const { services, collection } = context;
  // A server that sends any stream with its length frees what it has sent; a Blob is read by the runtime.
  const method = canBePlain(request) ? "read" : "send";
  const bytes = await services.uploads[method](collection, part, range.start, range.end);
  if (bytes instanceof Problem) return bytes;
  if (bytes === undefined) return findAgain(context, part);
  return new Response(releasedBody(context, bytes), { status, headers });
}

/** The chunks of a download are freed as they are sent, where the runtime can. */
export function releasedBody(
  { client: { releaseChunk } }: RequestContext,
  bytes: ReadableStream<Uint8Array> | Blob,
): ReadableStream<Uint8Array> | Blob {
  const isStream = bytes instanceof ReadableStream && releaseChunk !== undefined;
  return isStream ? releasedStream(bytes, releaseChunk) : bytes;
}

async function answerRanges(
  context: RequestContext,
  found: FoundFile,
  ranges: readonly ByteRange[],
): Promise<Response | Problem> {
  const { part, headers } = found;
  // A file that is missing can be explained only before the response has begun.
  const last = await open(context, found, { start: part.size - 1, end: part.size });
  if (last instanceof Problem) return last;
  if (last === undefined) return findAgain(context, part);
  await last.cancel();
  const file = { type: servedType(part.type), size: part.size };
  const { type, length, body } = writeByteRanges(ranges, file, (range) =>
    open(context, found, range),
  );
  headers.set("Content-Type", type);
  headers.set("Content-Length", String(length));
  const init = { status: 206, headers };
  if (found.bytes !== undefined) {
    if (length > smallResponseBytes && !context.memory.take(length)) return overloaded;
    return createResponse(context, new Uint8Array(await new Response(body).arrayBuffer()), init);
  }
  return new Response(releasedBody(context, body), init);
}

const open = async (
  { services, collection }: RequestContext,
  { part, bytes }: FoundFile,
  { start, end }: ByteRange,
): Promise<ReadableStream<Uint8Array> | Problem | undefined> =>
  bytes === undefined
    ? services.uploads.read(collection, part, start, end)
    : new Blob([bytes.subarray(start, end)]).stream();

/** The name that is asked for with `?download=`, or else the stored one. */
function dispositionOf({ name, type }: StoredFile, download: string | undefined): string {
  if (download !== undefined)
    return writeDisposition("attachment", cleanFileName(download) || name);
  return writeDisposition(isSafeToShow(type) ? "inline" : "attachment", name);
}

/** Returns undefined when the bytes of the file are missing. */
async function renderIfAsked(
  context: RequestContext,
  original: FoundFile,
  parameters: FileParameters,
): Promise<FoundFile | Problem | undefined> {
  const request = readPictureRequest(parameters);
  if (request === undefined || request instanceof Problem) return request ?? original;
  const made = await (request === "description"
    ? describePicture(context, original.part)
    : renderPicture(context, original.part, request));
  if (made === undefined || made instanceof Problem) return made;
  const etag = `"${made.part.sha256}"`;
  original.headers.set("ETag", etag);
  return { ...original, ...made, etag };
}

/** The file was replaced or removed in the meantime, or it is lost. */
async function findAgain(
  context: RequestContext,
  { key }: StoredFile,
): Promise<Response | Problem> {
  const current = await find(context);
  if (current instanceof Problem) return current;
  if (current.part.key !== key) return getFile(context);
  const [id, collection] = [context.param("id"), context.param("collection")];
  const resource = `the resource "${id}" in the collection "${collection}"`;
  throw new Outage("damaged", `the bytes of a file of ${resource} are missing: restore the files`);
}
