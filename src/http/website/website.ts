// Serves the files of a website beside the API.

import { preconditionFailed } from "../../domain/problems.ts";
import { type PublicFile, type PublicFolder, readPublicFile } from "../../lib/public-folder.ts";
import { pulledStream } from "../../lib/pulled-stream.ts";
import { type Reply, ReplyFields, replyOf, type Validators } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { servedType } from "../body/file-type.ts";
import { writeByteRanges } from "../files/byteranges.ts";
import { releasedBody } from "../files/download.ts";
import {
  checkIfMatch,
  httpDate,
  isNotModified,
  isPreconditionFailed,
} from "../headers/conditional.ts";
import { acceptsCoding, type Coding } from "../headers/content-coding.ts";
import { typeByEnding } from "../headers/file-ending.ts";
import { HttpProblem } from "../headers/http-problem.ts";
import { prefersHtml } from "../headers/media-type.ts";
import { type ByteRange, contentRange, rangesOf, unsatisfiable } from "../headers/range.ts";
import type { RequestContext, RouteName } from "../request/context.ts";
import { decodeSegment } from "../request/request-target.ts";
import { createReply } from "../response/response.ts";
import { cachingOf } from "./caching.ts";

const route: RouteName = { method: "GET", path: "website" };

/** Answers the requests that are not below the path of the API. Without a folder there is nothing. */
export const serveWebsite =
  (folder: PublicFolder | undefined, apiPath: string) =>
  async (context: RequestContext): Promise<Reply | Problem> => {
    context.route = route;
    const { method, path } = context;
    const hint = `The API begins at ${apiPath}.`;
    const notFound = new Problem("not-found", `There is nothing at this address. ${hint}`);
    if (folder === undefined) return notFound;
    if (method !== "GET" && method !== "HEAD")
      return new HttpProblem("method-not-allowed", `The website allows GET and HEAD. ${hint}`, {
        allow: "GET, HEAD",
      });
    const names = namesIn(path);
    const found = await folder.find(names);
    if (found === "folder") {
      const index = await folder.find([...names, indexName]);
      if (typeof index === "object") return redirectToFolder(context);
    } else if (found !== undefined)
      return send(context, await encoded(context, folder, names, found));
    return (await sendFallback(context, folder)) ?? notFound;
  };

const indexName = "index.html";

/** The names of the folders and of the file. Those that do not exist find nothing. */
function namesIn(path: string): readonly string[] {
  const names = path.slice(1).split("/");
  if (names.at(-1) === "") names.splice(-1, 1, indexName);
  // The whole path was decoded before, so that no part of it fails.
  return names.map((name) => String(decodeSegment(name)));
}

/** Links of the page are relative to the folder. */
function redirectToFolder({ services, path, query }: RequestContext): Reply {
  const fields = new ReplyFields(services.commonFields);
  fields.set("Location", `${services.pathBase}${path}/${query === "" ? "" : `?${query}`}`);
  fields.set("Cache-Control", "no-cache");
  return replyOf(308, fields);
}

/** A page for addresses without a file: that of an app, which has addresses of its own, or one that says so. */
async function sendFallback(
  context: RequestContext,
  folder: PublicFolder,
): Promise<Reply | Problem | undefined> {
  const names = isNavigation(context.request.headers) ? ["200.html", "404.html"] : ["404.html"];
  for (const name of names) {
    const page = await folder.find([name]);
    if (typeof page !== "object") continue;
    const found = await encoded(context, folder, [name], page);
    const vary = "Accept, Accept-Encoding, Sec-Fetch-Mode";
    return send(context, { ...found, vary, status: name === "200.html" ? 200 : 404 });
  }
  return undefined;
}

/** Whether a browser opens the address as a page, and not as a script or with `fetch`. */
const isNavigation = (headers: Headers): boolean =>
  (headers.get("sec-fetch-mode") ?? (prefersHtml(headers) ? "navigate" : "")) === "navigate";

interface SentFile {
  /** Without the ending of a coding. */
  readonly name: string;
  /** From the root of the website. */
  readonly path: string;
  readonly file: PublicFile;
  readonly coding?: Coding;
  readonly vary?: string;
  readonly status?: 200 | 404;
}

/** The smallest first. */
const endings: readonly (readonly [Coding, string])[] = [
  ["br", ".br"],
  ["zstd", ".zst"],
  ["gzip", ".gz"],
];

/** Returns the file as it was compressed before, if the client accepts that. */
async function encoded(
  { request }: RequestContext,
  folder: PublicFolder,
  names: readonly string[],
  plain: PublicFile,
): Promise<SentFile> {
  const name = names.at(-1) ?? "";
  const path = names.join("/");
  for (const [coding, ending] of endings) {
    if (!acceptsCoding(request.headers, coding)) continue;
    const file = await folder.find([...names.slice(0, -1), name + ending]);
    if (typeof file === "object") return { name, path, file, coding };
  }
  return { name, path, file: plain };
}

async function send(
  context: RequestContext,
  { name, path, file, coding, vary = "Accept-Encoding", status = 200 }: SentFile,
): Promise<Reply | Problem> {
  const { request, services } = context;
  const fields = new ReplyFields(services.commonFields);
  fields.set("Cache-Control", cachingOf(path));
  fields.set("Vary", vary);
  const type = servedType(typeByEnding(name) ?? "application/octet-stream");
  if (coding !== undefined) fields.set("Content-Encoding", coding);
  if (status === 404) return sendBytes(context, { file, type, status, fields });
  const validators = validatorsOf(file);
  fields.set("ETag", validators.etag);
  fields.set("Last-Modified", httpDate(file.modifiedAt));
  fields.set("Accept-Ranges", "bytes");
  const invalid = checkIfMatch(request.headers);
  if (invalid !== undefined) return invalid;
  if (isPreconditionFailed(request.headers, validators)) return preconditionFailed;
  if (isNotModified(request.headers, validators)) return replyOf(304, fields, null, validators);
  const ranges = rangesOf(request, validators, file.size);
  if (ranges === "unsatisfiable") return unsatisfiable(file.size);
  return sendBytes(context, { file, type, status, fields, ranges, validators });
}

/** Tools give all files of a build one time, so that a time tells nothing about a file. */
const validatorsOf = ({ version, modifiedAt }: PublicFile): Validators => ({
  etag: `"${version}"`,
  updatedAt: modifiedAt,
  isDateExact: false,
});

interface SentBytes {
  readonly file: PublicFile;
  readonly type: string;
  readonly status: number;
  readonly fields: ReplyFields;
  readonly validators?: Validators;
  readonly ranges?: readonly ByteRange[] | undefined;
}

function sendBytes(
  context: RequestContext,
  { file, type, status: whole, fields, validators, ranges = [] }: SentBytes,
): Reply {
  const [range = { start: 0, end: file.size }] = ranges;
  const open = ({ start, end }: ByteRange) => pulledStream(bytesOf(file, start, end));
  const several =
    ranges.length > 1
      ? writeByteRanges(ranges, { type, size: file.size }, async (each) => open(each))
      : undefined;
  if (ranges.length === 1) fields.set("Content-Range", contentRange(range, file.size));
  fields.set("Content-Type", several?.type ?? type);
  fields.set("Content-Length", String(several?.length ?? range.end - range.start));
  const status = ranges.length > 0 ? 206 : whole;
  if (context.method === "HEAD") return replyOf(status, fields, null, validators);
  if (several === undefined && file.bytes !== undefined) {
    const bytes = file.bytes.subarray(range.start, range.end);
    return createReply(context, status, fields, bytes, validators);
  }
  return replyOf(status, fields, releasedBody(context, several?.body ?? open(range)), validators);
}

async function* bytesOf(file: PublicFile, start: number, end: number): AsyncGenerator<Uint8Array> {
  if (file.bytes === undefined) yield* readPublicFile(file, start, end);
  else yield file.bytes.slice(start, end);
}
