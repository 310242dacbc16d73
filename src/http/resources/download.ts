// The bytes of a file: the whole or a range of it, safe to open whatever is in it.

import { preconditionFailed } from "../../domain/problems.ts";
import { fileAt } from "../../domain/uploads.ts";
import type { StoredFile } from "../../model/file.ts";
import { Problem } from "../../model/problem.ts";
import { Outage } from "../../store/store.ts";
import { isSafeToShow } from "../body/file-type.ts";
import type { RequestContext } from "../context.ts";
import {
  httpDate,
  isNotModified,
  isPreconditionFailed,
  refuseIfMatch,
  type Validators,
} from "../headers/conditional.ts";
import { writeDisposition } from "../headers/content-disposition.ts";
import { isSameFile, readRange } from "../headers/range.ts";
import { HttpProblem } from "../problem.ts";
import { refuseParameters } from "../search-params.ts";
import { setCaching, withDate } from "./representation.ts";

/** No page may be made of a file: it runs nothing, and belongs to no site. */
const sandbox = "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

export async function getFile(context: RequestContext): Promise<Response | Problem> {
  const refused = refuseParameters(context);
  if (refused !== undefined) return refused;
  const found = await find(context);
  if (found instanceof Problem) return found;
  const { headers: asked } = context.request;
  const { updatedAt, headers } = found;
  const broken = refuseIfMatch(asked);
  if (broken !== undefined) return broken;
  if (isPreconditionFailed(asked, found)) return preconditionFailed;
  const answer = isNotModified(asked, found)
    ? new Response(null, { status: 304, headers })
    : await answerBytes(context, found);
  return answer instanceof Problem ? answer : withDate(answer, updatedAt);
}

interface FoundFile extends Validators {
  readonly part: StoredFile;
  /** What came with a resource stays as it is for as long as it is there. */
  readonly updatedAt: number;
  /** Of a 304, to which a 200 and a 206 add theirs. */
  readonly headers: Headers;
}

async function find(context: RequestContext): Promise<FoundFile | Problem> {
  const { services, caller } = context;
  const [name, id] = [context.param("collection"), context.param("id")];
  const shown = await services.resources.find(caller, name, id);
  if (shown instanceof Problem) return shown;
  const part = fileAt(shown, context.param("part"));
  if (part instanceof Problem) return part;
  const etag = `"${part.sha256}"`;
  const { createdAt: updatedAt, sharesDate } = shown.resource;
  const headers = new Headers(services.commonHeaders);
  setCaching(headers, shown.rules);
  headers.set("etag", etag);
  headers.set("last-modified", httpDate(updatedAt));
  headers.set("accept-ranges", "bytes");
  headers.set("content-security-policy", sandbox);
  return { part, etag, updatedAt, isDateExact: sharesDate !== true, headers };
}

async function answerBytes(context: RequestContext, found: FoundFile): Promise<Response | Problem> {
  const { request, services } = context;
  const { part, headers } = found;
  const range = rangeOf(request, found);
  if (range === "unsatisfiable") return unsatisfiable(part.size);
  const { start, end } = range ?? { start: 0, end: part.size };
  const isShown = isSafeToShow(part.type);
  headers.set("content-type", part.type);
  headers.set("content-length", String(end - start));
  headers.set(
    "content-disposition",
    writeDisposition(isShown ? "inline" : "attachment", part.name),
  );
  if (range !== undefined) headers.set("content-range", `bytes ${start}-${end - 1}/${part.size}`);
  const status = range === undefined ? 200 : 206;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const bytes = await services.uploads.read(part, start, end);
  return bytes === undefined ? explainGone(context) : new Response(bytes, { status, headers });
}

/** GET alone has ranges (§14.2). */
function rangeOf({ method, headers }: Request, found: FoundFile) {
  const isAsked = method === "GET" && isSameFile(headers, found);
  return isAsked ? readRange(headers, found.part.size) : undefined;
}

const unsatisfiable = (size: number): Problem =>
  new HttpProblem("range-not-satisfiable", `The file has ${size} bytes.`, {
    "content-range": `bytes */${size}`,
  });

/** Either somebody has removed the resource meanwhile, or its files are not where they should be. */
async function explainGone(context: RequestContext): Promise<Problem> {
  const again = await find(context);
  if (again instanceof Problem) return again;
  const [id, collection] = [context.param("id"), context.param("collection")];
  const place = `the resource "${id}" in the collection "${collection}"`;
  throw new Outage("damaged", `the bytes of a file of ${place} are missing: restore the files`);
}
