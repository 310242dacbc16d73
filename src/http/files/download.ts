// Handles GET of a file: sends all bytes or a range, with headers that make it safe to open.

import { preconditionFailed } from "../../domain/problems.ts";
import { fileAt } from "../../domain/resources.ts";
import { fileReplaced, type Signed } from "../../domain/signed-urls.ts";
import type { StoredFile } from "../../model/file.ts";
import { Outage } from "../../model/outage.ts";
import { Problem } from "../../model/problem.ts";
import { isSafeToShow } from "../body/file-type.ts";
import {
  checkIfMatch,
  httpDate,
  isNotModified,
  isPreconditionFailed,
  type Validators,
} from "../headers/conditional.ts";
import { writeDisposition } from "../headers/content-disposition.ts";
import { HttpProblem } from "../headers/http-problem.ts";
import { isSameFile, readRange } from "../headers/range.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { setCaching, withDate } from "../response/response.ts";

/** Keeps a file from running scripts and from acting as a page of this origin. */
const sandbox = "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

export async function getFile(context: RequestContext): Promise<Response | Problem> {
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const found = await find(context);
  if (found instanceof Problem) return found;
  const { headers: requestHeaders } = context.request;
  const { updatedAt, headers } = found;
  const invalidIfMatch = checkIfMatch(requestHeaders);
  if (invalidIfMatch !== undefined) return invalidIfMatch;
  if (isPreconditionFailed(requestHeaders, found)) return preconditionFailed;
  const answer = isNotModified(requestHeaders, found)
    ? new Response(null, { status: 304, headers })
    : await answerBytes(context, found);
  return answer instanceof Problem ? answer : withDate(answer, updatedAt);
}

interface FoundFile extends Validators {
  readonly part: StoredFile;
  /** A file never changes, so its date is that of the resource's creation. */
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
  const { createdAt: updatedAt, sharesDate } = shown.resource;
  const headers = new Headers(services.commonHeaders);
  if (context.signed === undefined) setCaching(headers, shown.mask);
  else headers.set("Cache-Control", signedCache(context.signed));
  headers.set("ETag", etag);
  headers.set("Last-Modified", httpDate(updatedAt));
  headers.set("Accept-Ranges", "bytes");
  headers.set("Content-Security-Policy", sandbox);
  // Whether changes share a second is shown only with their times.
  const isDateExact = shown.mask.showsUpdates && sharesDate !== true;
  return { part, etag, updatedAt, isDateExact, headers };
}

/** The same URL never has other bytes. */
const signedCache = ({ expiresAt }: Signed): string =>
  `private, max-age=${Math.max(0, Math.floor((expiresAt - Date.now()) / 1000))}, immutable`;

async function answerBytes(context: RequestContext, found: FoundFile): Promise<Response | Problem> {
  const { request, services } = context;
  const { part, headers } = found;
  const range = rangeOf(request, found);
  if (range === "unsatisfiable") return unsatisfiable(part.size);
  const { start, end } = range ?? { start: 0, end: part.size };
  const isInline = isSafeToShow(part.type);
  headers.set("Content-Type", part.type);
  headers.set("Content-Length", String(end - start));
  headers.set(
    "content-disposition",
    writeDisposition(isInline ? "inline" : "attachment", part.name),
  );
  if (range !== undefined) headers.set("Content-Range", `bytes ${start}-${end - 1}/${part.size}`);
  const status = range === undefined ? 200 : 206;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const bytes = await services.uploads.read(context.collection, part, start, end);
  if (bytes instanceof Problem) return bytes;
  return bytes === undefined ? explainMissing(context) : new Response(bytes, { status, headers });
}

/** Only GET supports ranges (RFC 9110 §14.2). */
function rangeOf({ method, headers }: Request, found: FoundFile) {
  const isRangeRequest = method === "GET" && isSameFile(headers, found);
  return isRangeRequest ? readRange(headers, found.part.size) : undefined;
}

const unsatisfiable = (size: number): Problem =>
  new HttpProblem("range-not-satisfiable", `The file has ${size} bytes.`, {
    "content-range": `bytes */${size}`,
  });

/** The resource was deleted in the meantime, or its file is lost. */
async function explainMissing(context: RequestContext): Promise<Problem> {
  const current = await find(context);
  if (current instanceof Problem) return current;
  const [id, collection] = [context.param("id"), context.param("collection")];
  const resource = `the resource "${id}" in the collection "${collection}"`;
  throw new Outage("damaged", `the bytes of a file of ${resource} are missing: restore the files`);
}
