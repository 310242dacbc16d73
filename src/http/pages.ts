// What is not user data: the home document, health, and a page for each kind of problem.

import { Problem, type ProblemKind, problemKinds } from "../model/problem.ts";
import type { Soon } from "../model/soon.ts";
import { then } from "../model/soon.ts";
import { json, text } from "./answer.ts";
import type { Exchange } from "./exchange.ts";
import { refuseUnacceptable } from "./media.ts";
import { openapiDocument } from "./openapi.ts";
import { problemStatus } from "./problem.ts";
import { refuseParameters } from "./resources.ts";

type Page = (exchange: Exchange) => Soon<Response | Problem>;

/** A page that takes no parameters and answers with one media type. */
function page(type: string, make: (exchange: Exchange) => Soon<Response | Problem>): Page {
  const offered = [type];
  return (exchange) =>
    refuseParameters(exchange) ??
    refuseUnacceptable(exchange.request.headers, offered) ??
    make(exchange);
}

export const home = page("application/json", (exchange) => {
  const { base, version } = exchange.house;
  const response = json(exchange, 200, {
    name: "Restante",
    version,
    description: "POST a resource to /{collection}, GET it back at /{collection}/{id}.",
    links: {
      openapi: `${base}/-/openapi.json`,
      problems: `${base}/-/problems`,
      health: `${base}/-/health`,
      ready: `${base}/-/ready`,
      tokens: `${base}/-/tokens`,
    },
  });
  response.headers.set(
    "link",
    `<${base}/-/openapi.json>; rel="service-desc", <${base}/-/problems>; rel="help", <${base}/.well-known/api-catalog>; rel="api-catalog"`,
  );
  return response;
});

/** The process is alive: nothing else is asked. */
export const health = page("application/json", (exchange) => json(exchange, 200, { status: "ok" }));

/** Requests can be served, writes included: what a load balancer asks. */
export const ready = page("application/json", (exchange) =>
  then(exchange.house.unready(), (reason) =>
    reason === undefined
      ? json(exchange, 200, { status: "ready" })
      : new Problem("unavailable", reason),
  ),
);

export const openapi = page("application/json", (exchange) =>
  json(exchange, 200, openapiDocument(exchange.house)),
);

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
  const type = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';
  const response = text(exchange, 200, type, JSON.stringify({ linkset }));
  response.headers.set("link", `<${base}/.well-known/api-catalog>; rel="api-catalog"`);
  return response;
});

export const problemIndex = page("text/html", (exchange) => {
  const rows = Object.entries(problemKinds).map(
    ([kind, { title }]) =>
      `<li><a href="${exchange.house.base}/-/problems/${kind}">${problemStatus[kind as ProblemKind]} ${kind}</a>: ${title}</li>`,
  );
  return html(exchange, "Problems", `<ul>${rows.join("")}</ul>`);
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
  return html(
    exchange,
    title,
    `<p>Status ${status}, kind <code>${kind}</code></p><p>${words}</p>${index}`,
  );
});

const style =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}code{background:#8883;padding:.1em .3em;border-radius:.2em}";

function html(exchange: Exchange, title: string, body: string): Response {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${style}</style><h1>${escapeHtml(title)}</h1>${body}</html>`;
  const response = text(exchange, 200, "text/html; charset=utf-8", page);
  response.headers.set("cache-control", "public, max-age=3600");
  response.headers.set(
    "content-security-policy",
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  );
  return response;
}

const escapeHtml = (words: string): string =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
