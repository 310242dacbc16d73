// Handles GET of a file: sends all bytes or ranges, with headers that make it safe to open.

import { overloaded, preconditionFailed } from "../../domain/problems.ts";
import { dateOf, fileAt } from "../../domain/resources.ts";
import { fileReplaced, type Signed } from "../../domain/signed-urls.ts";
import { releasedStream } from "../../lib/released-stream.ts";
import {
  isWrittenHere,
  type Reply,
  ReplyFields,
  replyOf,
  type Validators,
} from "../../lib/reply.ts";
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
} from "../headers/conditional.ts";
import { declinesDigest, writeDigest } from "../headers/content-digest.ts";
import { cleanFileName, writeDisposition } from "../headers/content-disposition.ts";
import { type ByteRange, contentRange, rangesOf, unsatisfiable } from "../headers/range.ts";
import type { RequestContext } from "../request/context.ts";
import { invalid } from "../request/request-target.ts";
import { createReply, setCaching, smallResponseBytes } from "../response/response.ts";
import { writeByteRanges } from "./byteranges.ts";
import { type FileParameters, readFileParameters, readPictureRequest } from "./parameters.ts";
import { describePicture, renderPicture } from "./pictures.ts";

/** Keeps a file from running scripts and from acting as a page of this origin. */
const sandbox = "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

export async function getFile(context: RequestContext): Promise<Reply | Problem> {
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
  const { fields, validators } = found;
  const invalidIfMatch = checkIfMatch(requestHeaders);
  if (invalidIfMatch !== undefined) return invalidIfMatch;
  if (isPreconditionFailed(requestHeaders, validators)) return preconditionFailed;
  if (isNotModified(requestHeaders, validators)) return replyOf(304, fields, null, validators);
  const redirected = isRedirecting
    ? await redirect(context, found, parameters.download)
    : undefined;
  return redirected ?? answerBytes(context, found, parameters.download);
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
  { part, bytes, fields }: FoundFile,
  download: string | undefined,
): Promise<Reply | Problem | undefined> {
  const expiresAt =
    signed?.expiresAt ?? principal.credential?.expiresAt ?? Number.POSITIVE_INFINITY;
  const secondsLeft = Math.floor((expiresAt - Date.now()) / 1000);
  if (bytes !== undefined || secondsLeft < 1) return undefined;
  // A presigned URL has no sandbox. What browsers could run is an attachment in any case.
  const url = await services.uploads.link(collection, part, {
    expiresInSeconds: Math.min(maxRedirectSeconds, secondsLeft),
    type: servedType(part.type),
    disposition: dispositionOf(part, download),
    cacheControl: fields.get("Cache-Control") ?? "no-store",
  });
  if (url === undefined || url instanceof Problem) return url;
  const answer = new ReplyFields(services.commonFields);
  answer.set("Location", url);
  answer.set("Cache-Control", "private, no-store");
  return replyOf(307, answer);
}

interface FoundFile {
  readonly part: StoredFile;
  /** The bytes, when they are made from those of the file. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly validators: Validators;
  /** Those of a 304; a 200 and a 206 add more. */
  readonly fields: ReplyFields;
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
  const fields = new ReplyFields(services.commonFields);
  if (context.signed === undefined) setCaching(fields, shown.mask);
  else fields.set("Cache-Control", signedCache(context.signed));
  fields.set("ETag", etag);
  fields.set("Last-Modified", httpDate(updatedAt));
  fields.set("Accept-Ranges", "bytes");
  fields.set("Content-Security-Policy", sandbox);
  // Whether changes share a second is shown only with their times.
  const isDateExact = shown.mask.showsUpdates && date.isDateExact;
  return { part, validators: { etag, updatedAt, isDateExact }, fields };
}

/** The same URL never has other bytes. */
const signedCache = ({ expiresAt }: Signed): string =>
  `private, max-age=${Math.max(0, Math.floor((expiresAt - Date.now()) / 1000))}, immutable`;

async function answerBytes(
  context: RequestContext,
  found: FoundFile,
  download: string | undefined,
): Promise<Reply | Problem> {
  const { request } = context;
  const { part, fields, validators } = found;
  const ranges = rangesOf(request, validators, part.size);
  if (ranges === "unsatisfiable") return unsatisfiable(part.size);
  fields.set("Content-Type", servedType(part.type));
  fields.set("Content-Disposition", dispositionOf(part, download));
  if (!declinesDigest(request.headers, "want-repr-digest"))
    fields.set("Repr-Digest", writeDigest(part.sha256));
  if (ranges !== undefined && ranges.length > 1) return answerRanges(context, found, ranges);
  const [range = { start: 0, end: part.size }] = ranges ?? [];
  fields.set("Content-Length", String(range.end - range.start));
  if (ranges !== undefined) fields.set("Content-Range", contentRange(range, part.size));
  const status = ranges === undefined ? 200 : 206;
  if (request.method === "HEAD") return replyOf(status, fields, null, validators);
  if (ranges === undefined && !declinesDigest(request.headers, "want-content-digest"))
    fields.set("Content-Digest", writeDigest(part.sha256));
  const { bytes: made } = found;
  if (made !== undefined)
    return createReply(context, status, fields, made.subarray(range.start, range.end), validators);
  const { services, collection } = context;
  // Our server, which sends any stream with its length, frees what it has sent; a Blob is read by the runtime.
  const method = isWrittenHere(request) ? "read" : "send";
  const bytes = await services.uploads[method](collection, part, range.start, range.end);
  if (bytes instanceof Problem) return bytes;
  if (bytes === undefined) return findAgain(context, part);
  return replyOf(status, fields, releasedBody(context, bytes), validators);
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
): Promise<Reply | Problem> {
  const { part, fields, validators } = found;
  // A file that is missing can be explained only before the response has begun.
  const last = await open(context, found, { start: part.size - 1, end: part.size });
  if (last instanceof Problem) return last;
  if (last === undefined) return findAgain(context, part);
  await last.cancel();
  const file = { type: servedType(part.type), size: part.size };
  const { type, length, body } = writeByteRanges(ranges, file, (range) =>
    open(context, found, range),
  );
  fields.set("Content-Type", type);
  fields.set("Content-Length", String(length));
  if (found.bytes !== undefined) {
    if (length > smallResponseBytes && !context.memory.take(length)) return overloaded;
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    return createReply(context, 206, fields, bytes, validators);
  }
  return replyOf(206, fields, releasedBody(context, body), validators);
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
  original.fields.set("ETag", etag);
  return { ...original, ...made, validators: { ...original.validators, etag } };
}

/** The file was replaced or removed in the meantime, or it is lost. */
async function findAgain(context: RequestContext, { key }: StoredFile): Promise<Reply | Problem> {
  const current = await find(context);
  if (current instanceof Problem) return current;
  if (current.part.key !== key) return getFile(context);
  const [id, collection] = [context.param("id"), context.param("collection")];
  const resource = `the resource "${id}" in the collection "${collection}"`;
  throw new Outage("damaged", `the bytes of a file of ${resource} are missing: restore the files`);
}
