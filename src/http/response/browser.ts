// Responds with an HTML page instead of JSON when a browser posts a form.

import type { Written } from "../../domain/write/operation.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import { definitionOf } from "../../model/definition.ts";
import type { FieldError, ParameterError, Problem } from "../../model/problem.ts";
import { redactSecrets } from "../../model/secret.ts";
import { replayedHeader } from "../headers/idempotency-key.ts";
import { isForm, prefersHtml } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { contentSecurityPolicy, escapeHtml, htmlPage, htmlType } from "./html.ts";
import { problemFields, problemReply, problemStatus } from "./problem.ts";

/** Returns whether a browser form sent the request. */
function isFromBrowser({ request }: RequestContext): boolean {
  return request.method === "POST" && isForm(request.headers) && prefersHtml(request.headers);
}

/** 303, so that the browser GETs a page, and a reload does not post again (RFC 9110 §15.4.4). */
export function answerCreated(
  { services }: RequestContext,
  { access: { rules }, isReplay }: Written,
): Reply {
  const address = (rules && definitionOf(rules).redirect) ?? `${services.base}/-/created`;
  const fields = new ReplyFields(services.commonFields);
  fields.set("Location", address);
  fields.set("Cache-Control", "no-store");
  if (isReplay) fields.set(replayedHeader, "true");
  fields.append("Vary", "Accept");
  const content = `<p><a href="${escapeHtml(address)}">Continue</a></p>`;
  return htmlReply(303, fields, "Received", content);
}

/** Responds with a problem as JSON, or as a page for a browser. */
export function answerProblem(context: RequestContext, problem: Problem): Reply {
  if (!isForm(context.request.headers)) return problemReply(context, problem);
  const reply = isFromBrowser(context)
    ? problemPage(context, problem)
    : problemReply(context, problem);
  reply.fields.append("Vary", "Accept");
  return reply;
}

function problemPage({ services, requestId }: RequestContext, problem: Problem): Reply {
  const { kind, detail, errors = [] } = problem;
  const status = problemStatus[kind];
  const title = status < 500 ? "Your input was not accepted" : "Something went wrong";
  const words =
    errors.length === 0
      ? `<p>${escapeHtml(detail)}</p>`
      : `<p>Nothing was stored. Go back, correct the following and send the form again:</p><ul>${errors.map(errorItem).join("")}</ul>`;
  const id = `<p><small>Request ${escapeHtml(requestId)}</small></p>`;
  return htmlReply(status, problemFields(services, problem), title, redactSecrets(words + id));
}

function errorItem(error: FieldError | ParameterError): string {
  const field = "pointer" in error ? fieldName(error.pointer) : error.parameter;
  const label = field === "" ? "" : `<strong>${escapeHtml(field)}</strong>: `;
  return `<li>${label}${escapeHtml(error.detail)}</li>`;
}

/** Returns a JSON Pointer as a field name: `/address/city` becomes `address.city`. */
const fieldName = (pointer: string): string =>
  pointer.slice(1).replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~");

function htmlReply(status: number, fields: ReplyFields, title: string, content: string): Reply {
  fields.set("Content-Type", htmlType);
  fields.set("Content-Security-Policy", contentSecurityPolicy);
  return replyOf(status, fields, htmlPage(title, content));
}
