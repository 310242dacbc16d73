// Actions over HTTP: read, act, answer.

import { scanObject } from "../../lib/json/scan.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import {
  type Action,
  type ActionContext,
  accepted,
  type LocationResult,
  problem,
  seeOther,
} from "../../model/action.ts";
import { Problem } from "../../model/problem.ts";
import { actionScope } from "../../model/token.ts";
import { hasNoBody, invalidBody, readBody, refuseBody } from "../body/content.ts";
import type { RequestContext } from "../context.ts";
import { jsonTypes, refuseUnacceptable, takenByPost } from "../headers/media-type.ts";
import { responseOf } from "../large-response.ts";
import { noCache } from "../resources/representation.ts";
import { json } from "../response.ts";
import { refuseParameters } from "../search-params.ts";
import { resourcesFor } from "./action-client.ts";

/** Those that the caller may run. */
export function listActions(context: RequestContext): Response | Problem {
  const { services, request, token } = context;
  const refused = refuseParameters(context) ?? refuseUnacceptable(request.headers, jsonTypes);
  if (refused !== undefined) return refused;
  const data = services.actions.visibleTo(token).map((action) => viewOf(services.base, action));
  return json(context, 200, { data });
}

const viewOf = (base: string, { name, description, input, output, timeoutMs }: Action) => ({
  name,
  description,
  url: `${base}/-/actions/${name}`,
  scope: actionScope(name),
  timeoutMs,
  input,
  output,
});

export async function runAction(context: RequestContext): Promise<Response | Problem> {
  const { services, requestId, token } = context;
  const action = services.actions.find(context.param("name"));
  if (action instanceof Problem) return action;
  const text = refuseParameters(context) ?? refuseKey(context) ?? (await readInput(context));
  if (text instanceof Problem) return text;
  const accepted = services.actions.accept(action, token, text);
  if (accepted instanceof Problem) return accepted;

  context.extendTimeout();
  const answered = await services.actions.run(action, requestId, (signal) =>
    contextOf(context, accepted.input, signal),
  );
  if (answered instanceof Problem) return answered;

  const headers = new Headers(services.jsonHeaders);
  headers.set("cache-control", noCache);
  if ("location" in answered) return answerElsewhere(services.base, answered, headers);
  if (answered.text !== undefined) return responseOf(context, answered.text, { headers });
  headers.delete("content-type");
  return new Response(null, { status: 204, headers });
}

/** To take it and keep nothing would be a promise broken in silence. */
const refuseKey = ({ request }: RequestContext): Problem | undefined =>
  request.headers.has("idempotency-key") ? keyUnkept : undefined;

const keyUnkept = new Problem(
  "malformed-request",
  "Idempotency-Key is not kept for actions: only the action knows what may be repeated. Leave it out.",
);

/** The text of an object. Who sends no body at all sends an empty one. */
async function readInput(context: RequestContext): Promise<string | Problem> {
  const { headers } = context.request;
  if (hasNoBody(headers)) return refuseUnacceptable(headers, jsonTypes) ?? "{}";
  const bytes = refuseBody(context, takenByPost) ?? (await readBody(context));
  if (bytes instanceof Problem) return bytes;
  if (bytes.byteLength === 0) return "{}";
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  const scanned = scanObject(text);
  return "members" in scanned ? text : invalidBody(scanned);
}

function contextOf(context: RequestContext, input: unknown, signal: AbortSignal): ActionContext {
  const { services, requestId, token } = context;
  const { id, name, scopes } = token;
  const resources = resourcesFor(services, token, signal);
  // A copy: the store hands the same token to every request.
  const caller = { id, name, scopes: [...scopes] };
  return { input, resources, caller, requestId, signal, accepted, seeOther, problem };
}

function answerElsewhere(base: string, { status, location }: LocationResult, headers: Headers) {
  const address = addressOf(base, location);
  headers.set("location", address);
  if (status === 202)
    return new Response(JSON.stringify({ location: address }), { status, headers });
  headers.delete("content-type");
  // Otherwise Node would send the nothing in chunks.
  headers.set("content-length", "0");
  return new Response(null, { status, headers });
}

/** Anything else would lead a client astray, or break the header field: a bug of the action. */
function addressOf(base: string, location: string): string {
  const url = URL.parse(location, nowhere.href);
  const isPath = url?.origin === nowhere.origin && /^\/(?!\/)/.test(location);
  if (url !== null && isPath) return `${base}${url.href.slice(nowhere.origin.length)}`;
  const isAbsolute = url !== null && /^https?:\/\//i.test(location) && url.username === "";
  if (isAbsolute && url.password === "") return url.href;
  throw new TypeError(
    `an action's location is an absolute path or http URL, not ${JSON.stringify(location)}`,
  );
}

const nowhere = new URL("http://nowhere.invalid/");
