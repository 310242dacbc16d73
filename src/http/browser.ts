// What a person sees whose browser posted a form: a page instead of JSON.

import type { Written } from "../domain/outcomes.ts";
import { definitionOf } from "../model/definition.ts";
import type { Fault, ParameterFault, Problem } from "../model/problem.ts";
import { withoutSecrets } from "../model/token.ts";
import { isForm, prefersHtml } from "./body/media.ts";
import type { Exchange } from "./exchange.ts";
import { contentSecurityPolicy, escapeHtml, htmlPage, htmlType } from "./html.ts";
import { replayedField } from "./once.ts";
import { problemHeaders, problemResponse, problemStatus } from "./problem.ts";

/** Whether the answer is for a person to read. */
export function isFromBrowser({ request }: Exchange): boolean {
  return request.method === "POST" && isForm(request.headers) && prefersHtml(request.headers);
}

/** 303, so that the browser GETs a page, and a reload does not post again (RFC 9110 §15.4.4). */
export function answerCreated({ house }: Exchange, { rules, isReplay }: Written): Response {
  const address = (rules && definitionOf(rules).redirect) ?? `${house.base}/-/created`;
  const headers = new Headers(house.commonHeaders);
  headers.set("location", address);
  headers.set("cache-control", "no-store");
  if (isReplay) headers.set(replayedField, "true");
  headers.append("vary", "Accept");
  const content = `<p><a href="${escapeHtml(address)}">Go on</a></p>`;
  return htmlResponse(303, headers, "Received", content);
}

/** A refusal as JSON, or as a page where a person reads it. */
export function answerProblem(exchange: Exchange, problem: Problem): Response {
  if (!isForm(exchange.request.headers)) return problemResponse(exchange, problem);
  const response = isFromBrowser(exchange)
    ? problemPage(exchange, problem)
    : problemResponse(exchange, problem);
  response.headers.append("vary", "Accept");
  return response;
}

function problemPage({ house, requestId }: Exchange, problem: Problem): Response {
  const { kind, detail, errors = [] } = problem;
  const status = problemStatus[kind];
  const title = status < 500 ? "This was not accepted" : "This did not work";
  const words =
    errors.length === 0
      ? `<p>${escapeHtml(detail)}</p>`
      : `<p>Nothing was stored. Go back, correct this, and send it again:</p><ul>${errors.map(faultItem).join("")}</ul>`;
  const id = `<p><small>Request ${escapeHtml(requestId)}</small></p>`;
  return htmlResponse(status, problemHeaders(house, problem), title, withoutSecrets(words + id));
}

function faultItem(fault: Fault | ParameterFault): string {
  const field = "pointer" in fault ? fieldNamed(fault.pointer) : fault.parameter;
  const label = field === "" ? "" : `<strong>${escapeHtml(field)}</strong>: `;
  return `<li>${label}${escapeHtml(fault.detail)}</li>`;
}

/** The way to a field as its name: `/address/city` as `address.city`. */
const fieldNamed = (pointer: string): string =>
  pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");

function htmlResponse(status: number, headers: Headers, title: string, content: string): Response {
  headers.set("content-type", htmlType);
  headers.set("content-security-policy", contentSecurityPolicy);
  return new Response(htmlPage(title, content), { status, headers });
}
