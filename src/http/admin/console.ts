// Serves the web console: one page, and the scripts and styles that it loads.

import { hash } from "node:crypto";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { servedType } from "../body/file-type.ts";
import { typeByEnding } from "../headers/file-ending.ts";
import { checkAccept } from "../headers/media-type.ts";
import type { RequestContext, Services } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { type Page, sendPage } from "../response/representation.ts";
import { negotiated } from "../response/response.ts";

/** Scripts and styles are those of this server. No text becomes HTML or code. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The page keeps its state in the fragment of its address, so that it is one page at any address. */
export const consolePage = (context: RequestContext): MaybePromise<Reply | Problem> =>
  rejectParameters(context) ?? answerFile(context, "index.html");

export const consoleFile = (context: RequestContext): MaybePromise<Reply | Problem> =>
  rejectParameters(context) ?? answerFile(context, context.param("name"));

/** Sends a browser that opens `/` to the console. */
export function redirectToConsole({ services }: RequestContext): Reply {
  const fields = new ReplyFields(services.commonFields);
  fields.set("Location", `${services.base}/-/console`);
  fields.set("Cache-Control", "no-cache");
  fields.append("Vary", "Accept");
  return replyOf(302, fields);
}

function answerFile(context: RequestContext, name: string): MaybePromise<Reply | Problem> {
  const { consoleFiles } = context.services;
  if (consoleFiles === undefined) return switchedOff;
  if (consoleFiles.size === 0) return notBuilt;
  const text = consoleFiles.get(name);
  const type = typeByEnding(name);
  if (text === undefined || type === undefined) return notFound;
  const rejected = checkAccept(context.request.headers, [type]);
  return rejected ?? sendPage(context, renderedFile(context, name, servedType(type), text));
}

export const switchedOff = new Problem(
  "not-found",
  "The console is not served here: it is switched off (--console off), or on another port (--console-port), which it needs beside a website.",
);
const notBuilt = new Problem("not-found", "The console is not built here. Run: npm run setup");
const notFound = new Problem("not-found", "The console has no such file.");

/** Files are rendered once, and are cached with their encoded bodies. */
const rendered = new WeakMap<Services, Map<string, Page>>();

function renderedFile(context: RequestContext, name: string, type: string, body: string): Page {
  const known = rendered.get(context.services) ?? new Map<string, Page>();
  rendered.set(context.services, known);
  const page = known.get(name) ?? render(context, name, type, body);
  known.set(name, page);
  return page;
}

/** The name of a script or of a style sheet ends with a hash of its content. */
const hashedName = /-[0-9a-z]{8}\.(?:js|css)$/;

function render(context: RequestContext, name: string, type: string, body: string): Page {
  const isPage = name === "index.html";
  const fields = negotiated(context, type);
  const etag = `"${hash("sha256", body).slice(0, 32)}"`;
  fields.set("ETag", etag);
  fields.set(
    "Cache-Control",
    hashedName.test(name) ? "public, max-age=31536000, immutable" : "public, no-cache",
  );
  if (isPage) fields.set("Content-Security-Policy", contentSecurityPolicy);
  return replyOf(200, fields, body, { etag, updatedAt: undefined, isDateExact: false });
}
