// Actions over HTTP: read, act, answer.

import {
  type Action,
  type ActionContext,
  accepted,
  type Elsewhere,
  problem,
  seeOther,
} from "../model/action.ts";
import { scanObject } from "../model/json/json.ts";
import { decodeUtf8 } from "../model/json/utf8.ts";
import { Problem } from "../model/problem.ts";
import { actionScope } from "../model/token.ts";
import { resourcesFor } from "./action-resources.ts";
import { json } from "./answer.ts";
import { hasNoBody, invalidBody, readBody, refuseBody } from "./body/body.ts";
import { jsonTypes, refuseUnacceptable, takenByPost } from "./body/media.ts";
import type { Exchange } from "./exchange.ts";
import { responseOf } from "./large-answer.ts";
import { refuseParameters } from "./query.ts";
import { noCache } from "./representation.ts";

/** Those that the caller may run. */
export function listActions(exchange: Exchange): Response | Problem {
  const { house, request, token } = exchange;
  const refused = refuseParameters(exchange) ?? refuseUnacceptable(request.headers, jsonTypes);
  if (refused !== undefined) return refused;
  const data = house.actions.visibleTo(token).map((action) => viewOf(house.base, action));
  return json(exchange, 200, { data });
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

export async function runAction(exchange: Exchange): Promise<Response | Problem> {
  const { house, requestId, token } = exchange;
  const action = house.actions.find(exchange.param("name"));
  if (action instanceof Problem) return action;
  const text = refuseParameters(exchange) ?? refuseKey(exchange) ?? (await readInput(exchange));
  if (text instanceof Problem) return text;
  const accepted = house.actions.accept(action, token, text);
  if (accepted instanceof Problem) return accepted;

  exchange.windClock();
  const answered = await house.actions.run(action, requestId, (signal) =>
    contextOf(exchange, accepted.input, signal),
  );
  if (answered instanceof Problem) return answered;

  const headers = new Headers(house.jsonHeaders);
  headers.set("cache-control", noCache);
  if ("location" in answered) return answerElsewhere(house.base, answered, headers);
  if (answered.text !== undefined) return responseOf(exchange, answered.text, { headers });
  headers.delete("content-type");
  return new Response(null, { status: 204, headers });
}

/** To take it and keep nothing would be a promise broken in silence. */
const refuseKey = ({ request }: Exchange): Problem | undefined =>
  request.headers.has("idempotency-key") ? keyUnkept : undefined;

const keyUnkept = new Problem(
  "malformed-request",
  "Idempotency-Key is not kept for actions: only the action knows what may be repeated. Leave it out.",
);

/** The text of an object. Who sends no body at all sends an empty one. */
async function readInput(exchange: Exchange): Promise<string | Problem> {
  const { headers } = exchange.request;
  if (hasNoBody(headers)) return refuseUnacceptable(headers, jsonTypes) ?? "{}";
  const bytes = refuseBody(exchange, takenByPost) ?? (await readBody(exchange));
  if (bytes instanceof Problem) return bytes;
  if (bytes.byteLength === 0) return "{}";
  const text = decodeUtf8(bytes);
  if (typeof text !== "string") return invalidBody([text]);
  const scanned = scanObject(text);
  return "members" in scanned ? text : invalidBody(scanned);
}

function contextOf(exchange: Exchange, input: unknown, signal: AbortSignal): ActionContext {
  const { house, requestId, token } = exchange;
  const { id, name, scopes } = token;
  const resources = resourcesFor(house, token, signal);
  // A copy: the store hands the same token to every request.
  const caller = { id, name, scopes: [...scopes] };
  return { input, resources, caller, requestId, signal, accepted, seeOther, problem };
}

function answerElsewhere(base: string, { status, location }: Elsewhere, headers: Headers) {
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
