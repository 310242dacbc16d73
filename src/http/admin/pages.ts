// What is not user data: the home document, health, and a page for each kind of problem.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import { then } from "../../lib/maybe-promise.ts";
import { Problem, type ProblemKind, problemKinds } from "../../model/problem.ts";
import { authorize } from "../authorize.ts";
import type { RequestContext, Services } from "../context.ts";
import { isNotModified } from "../headers/conditional.ts";
import { refuseUnacceptable } from "../headers/media-type.ts";
import { answerHtml, escapeHtml } from "../html.ts";
import { type Document, documentFor } from "../openapi/openapi.ts";
import { problemStatus } from "../problem.ts";
import { answerEncoded, notModified, type RenderedPage } from "../resources/representation.ts";
import { answerPage, json } from "../response.ts";
import { refuseParameters } from "../search-params.ts";

type Answer = (context: RequestContext) => MaybePromise<Response | Problem>;

/** A page that takes no parameters and answers with one media type. */
function page(type: string, answer: Answer): Answer {
  const offered = [type];
  return (context) =>
    refuseParameters(context) ??
    refuseUnacceptable(context.request.headers, offered) ??
    answer(context);
}

export const home = page("application/json", (context) => {
  const { base, version } = context.services;
  const document = {
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
  return answerPage(context, { ...asked, body: JSON.stringify(document), fields: { link } });
});

/** Small, and to be right after an update at once: kept, but asked for again each time. */
const asked = { type: "application/json", cacheControl: "no-cache" };

/** The process is alive: nothing else is asked. */
export const health = page("application/json", (context) => json(context, 200, { status: "ok" }));

/** Requests can be served, writes included: what a load balancer asks. */
export const ready = page("application/json", (context) =>
  then(context.services.unready(), (reason) => {
    if (reason === undefined) return json(context, 200, { status: "ready" });
    // It may name files, and anyone may ask.
    context.services.logRefusal(context.requestId, problemStatus.unavailable, reason);
    return new Problem("unavailable", "Writes cannot be taken now; the log says why.");
  }),
);

/** Open to everyone; but a token shows more, and one that is sent must be valid here, too. */
export const openapi: Answer = (context) => {
  const isNamed = context.request.headers.has("authorization");
  return then(
    isNamed ? authorize(context, "token") : undefined,
    (refused) => refused ?? document(context),
  );
};

const document = page("application/json", (context) => {
  const { services, caller, request } = context;
  return then(services.collections.list(), (collections) => {
    const page = prepareDocument(services, documentFor(services, caller, collections));
    return isNotModified(request.headers, page)
      ? notModified(request.headers, page, page.body.length)
      : answerEncoded(context, page);
  });
});

/** Kept as long as the document is, and with it what it is coded to. */
const prepared = new WeakMap<Document, RenderedPage>();

function prepareDocument(services: Services, document: Document): RenderedPage {
  const known = prepared.get(document);
  if (known !== undefined) return known;
  const { body, etag } = document;
  const headers = new Headers(services.jsonHeaders);
  headers.append("vary", "Authorization");
  headers.set("cache-control", "private, no-cache");
  headers.set("etag", etag);
  // The rules may have changed at any time, so that no date tells whether it is the same.
  const made = { headers, etag, body, updatedAt: undefined, isDateExact: false };
  prepared.set(document, made);
  return made;
}

/** RFC 9727: where a machine starts that knows only the host. */
export const apiCatalog = page("application/linkset+json", (context) => {
  const { base } = context.services;
  const linkset = [
    {
      anchor: `${base}/`,
      "service-desc": [{ href: `${base}/-/openapi.json`, type: "application/json" }],
      status: [{ href: `${base}/-/health`, type: "application/json" }],
    },
  ];
  return answerPage(context, {
    ...asked,
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    body: JSON.stringify({ linkset }),
    fields: { link: `<${base}/.well-known/api-catalog>; rel="api-catalog"` },
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
    return new Problem("not-found", "There is no problem of this kind; /-/problems lists them.");
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

/** Where a browser lands whose form was accepted. It says nothing of what was sent. */
export const createdPage = page("text/html", (context) =>
  answerHtml(context, "Thank you", "<p>What you sent has been received.</p>"),
);
