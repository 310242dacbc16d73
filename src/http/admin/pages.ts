// Handles the home document, health checks, the OpenAPI document and the problem pages.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import { Problem, type ProblemKind, problemKinds } from "../../model/problem.ts";
import type { Health, Home } from "../../model/schemas/server.ts";
import { checkAccept, prefersHtml } from "../headers/media-type.ts";
import { type Document, documentFor } from "../openapi/document.ts";
import { type OpenapiVersion, openapiVersions } from "../openapi/portable.ts";
import type { RequestContext, Services } from "../request/context.ts";
import { invalid, readParameters, rejectParameters } from "../request/request-target.ts";
import type { Handler, Routes } from "../request/route.ts";
import { answerHtml, escapeHtml } from "../response/html.ts";
import { problemStatus } from "../response/problem.ts";
import { type Page, pageReply, sendPage } from "../response/representation.ts";
import { json } from "../response/response.ts";
import { redirectToConsole } from "./console.ts";

/** Creates a handler that takes no parameters and has one response type. */
function page(type: string, answer: Handler): Handler {
  const offered = [type];
  return (context) =>
    rejectParameters(context) ?? checkAccept(context.request.headers, offered) ?? answer(context);
}

export const home: Handler = (context) =>
  context.services.consoleFiles !== undefined && prefersHtml(context.request.headers)
    ? (rejectParameters(context) ?? redirectToConsole(context))
    : homeDocument(context);

const homeDocument = page("application/json", (context) => {
  const { base, version } = context.services;
  const document: Home = {
    name: "Restante",
    version,
    description: "POST a resource to /{collection}, GET it back at /{collection}/{id}.",
    links: {
      openapi: `${base}/-/openapi.json`,
      problems: `${base}/-/problems`,
      health: `${base}/-/health`,
      ready: `${base}/-/ready`,
      collections: `${base}/-/collections`,
      tokens: `${base}/-/tokens`,
    },
  };
  const link = `<${base}/-/openapi.json>; rel="service-desc", <${base}/-/problems>; rel="help", <${base}/.well-known/api-catalog>; rel="api-catalog"`;
  return pageReply(context, {
    ...revalidated,
    body: JSON.stringify(document),
    more: { link },
  });
});

/** Caches revalidate it each time, so that it is current right after an update. */
const revalidated = { type: "application/json", cacheControl: "no-cache" };

/** Reports that the process is alive and checks nothing else. */
export const health = page("application/json", (context) =>
  json(context, 200, { status: "ok" } satisfies Health),
);

/** Reports whether the server can handle requests, including writes; for load balancers. */
export const ready = page("application/json", (context) =>
  then(context.services.unready(), (reason) => {
    if (reason === undefined) return answerReady(context);
    // The reason may name files, and this route is public, so it goes to the log only.
    context.services.logRefusal(context.requestId, problemStatus.unavailable, reason);
    return new Problem("unavailable", "The server cannot accept writes now; its log says why.");
  }),
);

/** An outage of the files stops nothing else, so the server stays ready. The log says why. */
const answerReady = (context: RequestContext): MaybePromise<Reply> =>
  then(context.services.filesUnready(), (reason) => {
    const files = reason === undefined ? {} : ({ files: "unavailable" } as const);
    return json(context, 200, { status: "ready", ...files } satisfies Health);
  });

/** Responds with the OpenAPI document of the routes. A token shows more. */
export const openapiPage =
  (routes: () => Routes): Handler =>
  (context) => {
    const { services, principal, request, searchParams } = context;
    const parameters = readParameters(searchParams, ["version"]);
    if (parameters instanceof Problem) return parameters;
    const { version = "3.1" } = parameters;
    if (!isOpenapiVersion(version)) return unknownVersion;
    const rejected = checkAccept(request.headers, ["application/json"]);
    if (rejected !== undefined) return rejected;
    return then(services.collections.usable(principal), (contract) => {
      const document = documentFor(routes(), services, principal, contract, version);
      return sendPage(context, renderDocument(services, document));
    });
  };

const isOpenapiVersion = (version: string): version is OpenapiVersion =>
  Object.hasOwn(openapiVersions, version);

const unknownVersion = invalid([
  {
    parameter: "version",
    detail: `version is one of: ${Object.keys(openapiVersions).join(", ")}.`,
  },
]);

/** Rendered documents, cached with their encoded bodies. */
const renderedDocuments = new WeakMap<Document, Page>();

function renderDocument(services: Services, document: Document): Page {
  const cached = renderedDocuments.get(document);
  if (cached !== undefined) return cached;
  const { body, etag } = document;
  const fields = new ReplyFields(services.jsonFields);
  fields.append("Vary", "Authorization");
  fields.set("Cache-Control", "private, no-cache");
  fields.set("ETag", etag);
  // Definitions can change at any time, so the document has no Last-Modified.
  const made = replyOf(200, fields, body, { etag, updatedAt: undefined, isDateExact: false });
  renderedDocuments.set(document, made);
  return made;
}

/** The API catalog (RFC 9727). */
export const apiCatalog = page("application/linkset+json", (context) => {
  const { base } = context.services;
  const linkset = [
    {
      anchor: `${base}/`,
      "service-desc": [{ href: `${base}/-/openapi.json`, type: "application/json" }],
      status: [{ href: `${base}/-/health`, type: "application/json" }],
    },
  ];
  return pageReply(context, {
    ...revalidated,
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    body: JSON.stringify({ linkset }),
    more: { link: `<${base}/.well-known/api-catalog>; rel="api-catalog"` },
  });
});

export const problemIndex = page("text/html", (context) => {
  const rows = Object.entries(problemKinds).map(
    ([kind, { title }]) =>
      `<li><a href="${context.services.base}/-/problems/${kind}">${problemStatus[kind as ProblemKind]} ${kind}</a>: ${title}</li>`,
  );
  return answerHtml(context, "Problems", `<ul>${rows.join("")}</ul>`);
});

export const problemPage = page("text/html", (context) => {
  const kind = context.param("kind");
  if (!Object.hasOwn(problemKinds, kind)) {
    return new Problem("not-found", "There is no such kind of problem; /-/problems lists them.");
  }
  const { title, about } = problemKinds[kind as ProblemKind];
  const words = escapeHtml(about).replace(/`([^`]+)`/g, "<code>$1</code>");
  const status = problemStatus[kind as ProblemKind];
  const index = `<p><a href="${context.services.base}/-/problems">All problems</a></p>`;
  return answerHtml(
    context,
    title,
    `<p>Status ${status}, kind <code>${kind}</code></p><p>${words}</p>${index}`,
  );
});

/** The page after an accepted form. It shows nothing of what was sent. */
export const createdPage = page("text/html", (context) =>
  answerHtml(context, "Thank you", "<p>What you sent has been received.</p>"),
);
