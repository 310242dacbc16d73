// What is not user data: the home document, health, and a page for each kind of problem.

import { Problem, type ProblemKind, problemKinds } from "../model/problem.ts";
import type { Soon } from "../model/soon.ts";
import { then } from "../model/soon.ts";
import { answerPage, json } from "./answer.ts";
import { refuseUnacceptable } from "./body/media.ts";
import { isNotModified } from "./conditions.ts";
import type { Exchange, House } from "./exchange.ts";
import { guard } from "./guard.ts";
import { answerHtml, escapeHtml } from "./html.ts";
import { type Document, documentFor } from "./openapi/openapi.ts";
import { problemStatus } from "./problem.ts";
import { refuseParameters } from "./query.ts";
import { answerCoded, notModified, type Prepared } from "./representation.ts";

type Answer = (exchange: Exchange) => Soon<Response | Problem>;

/** A page that takes no parameters and answers with one media type. */
function page(type: string, answer: Answer): Answer {
  const offered = [type];
  return (exchange) =>
    refuseParameters(exchange) ??
    refuseUnacceptable(exchange.request.headers, offered) ??
    answer(exchange);
}

export const home = page("application/json", (exchange) => {
  const { base, version } = exchange.house;
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
  return answerPage(exchange, { ...asked, body: JSON.stringify(document), fields: { link } });
});

/** Small, and to be right after an update at once: kept, but asked for again each time. */
const asked = { type: "application/json", cacheControl: "no-cache" };

/** The process is alive: nothing else is asked. */
export const health = page("application/json", (exchange) => json(exchange, 200, { status: "ok" }));

/** Requests can be served, writes included: what a load balancer asks. */
export const ready = page("application/json", (exchange) =>
  then(exchange.house.unready(), (reason) => {
    if (reason === undefined) return json(exchange, 200, { status: "ready" });
    // It may name files, and anyone may ask.
    exchange.house.logRefusal(exchange.requestId, problemStatus.unavailable, reason);
    return new Problem("unavailable", "Writes cannot be taken now; the log says why.");
  }),
);

/** Open to everyone; but a token shows more, and one that is sent must be valid here, too. */
export const openapi: Answer = (exchange) => {
  const isNamed = exchange.request.headers.has("authorization");
  return then(
    isNamed ? guard(exchange, "token") : undefined,
    (refused) => refused ?? document(exchange),
  );
};

const document = page("application/json", (exchange) => {
  const { house, caller, request } = exchange;
  return then(house.collections.list(), (collections) => {
    const page = prepareDocument(house, documentFor(house, caller, collections));
    return isNotModified(request.headers, page)
      ? notModified(request.headers, page, page.body.length)
      : answerCoded(exchange, page);
  });
});

/** Kept as long as the document is, and with it what it is coded to. */
const prepared = new WeakMap<Document, Prepared>();

function prepareDocument(house: House, document: Document): Prepared {
  const known = prepared.get(document);
  if (known !== undefined) return known;
  const { body, etag } = document;
  const headers = new Headers(house.jsonHeaders);
  headers.append("vary", "Authorization");
  headers.set("cache-control", "private, no-cache");
  headers.set("etag", etag);
  // The rules may have changed at any time, so that no date tells whether it is the same.
  const made = { headers, etag, body, updatedAt: undefined, isDateExact: false };
  prepared.set(document, made);
  return made;
}

/** RFC 9727: where a machine starts that knows only the host. */
export const apiCatalog = page("application/linkset+json", (exchange) => {
  const { base } = exchange.house;
  const linkset = [
    {
      anchor: `${base}/`,
      "service-desc": [{ href: `${base}/-/openapi.json`, type: "application/json" }],
      status: [{ href: `${base}/-/health`, type: "application/json" }],
    },
  ];
  return answerPage(exchange, {
    ...asked,
    type: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    body: JSON.stringify({ linkset }),
    fields: { link: `<${base}/.well-known/api-catalog>; rel="api-catalog"` },
  });
});

export const problemIndex = page("text/html", (exchange) => {
  const rows = Object.entries(problemKinds).map(
    ([kind, { title }]) =>
      `<li><a href="${exchange.house.base}/-/problems/${kind}">${problemStatus[kind as ProblemKind]} ${kind}</a>: ${title}</li>`,
  );
  return answerHtml(exchange, "Problems", `<ul>${rows.join("")}</ul>`);
});

export const problemPage = page("text/html", (exchange) => {
  const kind = exchange.param("kind");
  if (!Object.hasOwn(problemKinds, kind)) {
    return new Problem("not-found", "There is no problem of this kind; /-/problems lists them.");
  }
  const { title, about } = problemKinds[kind as ProblemKind];
  const words = escapeHtml(about).replace(/`([^`]+)`/g, "<code>$1</code>");
  const status = problemStatus[kind as ProblemKind];
  const index = `<p><a href="${exchange.house.base}/-/problems">All problems</a></p>`;
  return answerHtml(
    exchange,
    title,
    `<p>Status ${status}, kind <code>${kind}</code></p><p>${words}</p>${index}`,
  );
});

/** Where a browser lands whose form was accepted. It says nothing of what was sent. */
export const createdPage = page("text/html", (exchange) =>
  answerHtml(exchange, "Thank you", "<p>What you sent has been received.</p>"),
);
