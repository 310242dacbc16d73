// The bytes of a file: the whole or a range of it, safe to open whatever is in it.

import { preconditionFailed } from "../domain/refusals.ts";
import { partAt } from "../domain/uploads.ts";
import type { Part } from "../model/part.ts";
import { Problem } from "../model/problem.ts";
import { Outage } from "../store/store.ts";
import { writeDisposition } from "./body/disposition.ts";
import { isSafeToShow } from "./body/file-type.ts";
import {
  httpDate,
  isAnotherState,
  isNotModified,
  refuseIfMatch,
  type Validators,
} from "./conditions.ts";
import type { Exchange } from "./exchange.ts";
import { Refusal } from "./problem.ts";
import { refuseParameters } from "./query.ts";
import { isSameFile, readRange } from "./ranges.ts";
import { dated, setCaching } from "./representation.ts";

/** No page may be made of a file: it runs nothing, and belongs to no site. */
const sandbox = "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'";

export async function getFile(exchange: Exchange): Promise<Response | Problem> {
  const refused = refuseParameters(exchange);
  if (refused !== undefined) return refused;
  const found = await find(exchange);
  if (found instanceof Problem) return found;
  const { headers: asked } = exchange.request;
  const { updatedAt, headers } = found;
  const broken = refuseIfMatch(asked);
  if (broken !== undefined) return broken;
  if (isAnotherState(asked, found)) return preconditionFailed;
  const answer = isNotModified(asked, found)
    ? new Response(null, { status: 304, headers })
    : await answerBytes(exchange, found);
  return answer instanceof Problem ? answer : dated(answer, updatedAt);
}

interface FoundFile extends Validators {
  readonly part: Part;
  /** What came with a resource stays as it is for as long as it is there. */
  readonly updatedAt: number;
  /** Of a 304, to which a 200 and a 206 add theirs. */
  readonly headers: Headers;
}

async function find(exchange: Exchange): Promise<FoundFile | Problem> {
  const { house, caller } = exchange;
  const [name, id] = [exchange.param("collection"), exchange.param("id")];
  const shown = await house.resources.find(caller, name, id);
  if (shown instanceof Problem) return shown;
  const part = partAt(shown, exchange.param("part"));
  if (part instanceof Problem) return part;
  const etag = `"${part.sha256}"`;
  const { createdAt: updatedAt, sharesDate } = shown.resource;
  const headers = new Headers(house.commonHeaders);
  setCaching(headers, shown.rules);
  headers.set("etag", etag);
  headers.set("last-modified", httpDate(updatedAt));
  headers.set("accept-ranges", "bytes");
  headers.set("content-security-policy", sandbox);
  return { part, etag, updatedAt, isDateExact: sharesDate !== true, headers };
}

async function answerBytes(exchange: Exchange, found: FoundFile): Promise<Response | Problem> {
  const { request, house } = exchange;
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
  const bytes = await house.uploads.read(part, start, end);
  return bytes === undefined ? explainGone(exchange) : new Response(bytes, { status, headers });
}

/** GET alone has ranges (§14.2). */
function rangeOf({ method, headers }: Request, found: FoundFile) {
  const isAsked = method === "GET" && isSameFile(headers, found);
  return isAsked ? readRange(headers, found.part.size) : undefined;
}

const unsatisfiable = (size: number): Problem =>
  new Refusal("range-not-satisfiable", `The file has ${size} bytes.`, {
    "content-range": `bytes */${size}`,
  });

/** Either somebody has removed the resource meanwhile, or its files are not where they should be. */
async function explainGone(exchange: Exchange): Promise<Problem> {
  const again = await find(exchange);
  if (again instanceof Problem) return again;
  const [id, collection] = [exchange.param("id"), exchange.param("collection")];
  const place = `the resource "${id}" in the collection "${collection}"`;
  throw new Outage("damaged", `the bytes of a file of ${place} are missing: restore the files`);
}
