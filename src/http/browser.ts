// What a person sees whose browser posted a form: a page instead of JSON.

import type { Written } from "../domain/outcomes.ts";
import { definitionOf } from "../model/definition.ts";
import type { FieldError, ParameterError, Problem } from "../model/problem.ts";
import { redactSecrets } from "../model/token.ts";
import type { RequestContext } from "./context.ts";
import { replayedField } from "./headers/idempotency-key.ts";
import { isForm, prefersHtml } from "./headers/media-type.ts";
import { contentSecurityPolicy, escapeHtml, htmlPage, htmlType } from "./html.ts";
import { problemHeaders, problemResponse, problemStatus } from "./problem.ts";

/** Whether the answer is for a person to read. */
export function isFromBrowser({ request }: RequestContext): boolean {
  return request.method === "POST" && isForm(request.headers) && prefersHtml(request.headers);
}

/** 303, so that the browser GETs a page, and a reload does not post again (RFC 9110 §15.4.4). */
export function answerCreated(
  { services }: RequestContext,
  { rules, isReplay }: Written,
): Response {
  const address = (rules && definitionOf(rules).redirect) ?? `${services.base}/-/created`;
  const headers = new Headers(services.commonHeaders);
  headers.set("location", address);
  headers.set("cache-control", "no-store");
  if (isReplay) headers.set(replayedField, "true");
  headers.append("vary", "Accept");
  const content = `<p><a href="${escapeHtml(address)}">Go on</a></p>`;
  return htmlResponse(303, headers, "Received", content);
}

/** A refusal as JSON, or as a page where a person reads it. */
export function answerProblem(context: RequestContext, problem: Problem): Response {
  if (!isForm(context.request.headers)) return problemResponse(context, problem);
  const response = isFromBrowser(context)
    ? problemPage(context, problem)
    : problemResponse(context, problem);
  response.headers.append("vary", "Accept");
  return response;
}

function problemPage({ services, requestId }: RequestContext, problem: Problem): Response {
  const { kind, detail, errors = [] } = problem;
  const status = problemStatus[kind];
  const title = status < 500 ? "This was not accepted" : "This did not work";
  const words =
    errors.length === 0
      ? `<p>${escapeHtml(detail)}</p>`
      : `<p>Nothing was stored. Go back, correct this, and send it again:</p><ul>${errors.map(faultItem).join("")}</ul>`;
  const id = `<p><small>Request ${escapeHtml(requestId)}</small></p>`;
  return htmlResponse(status, problemHeaders(services, problem), title, redactSecrets(words + id));
}

function faultItem(fault: FieldError | ParameterError): string {
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
