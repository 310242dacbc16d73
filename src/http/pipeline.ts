// The way of every request: admit, find the place, guard, act, answer.

import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { Problem } from "../model/problem.ts";
import { authorize, rejectCredentialInUrl } from "./authorize.ts";
import { skipBody } from "./body/content.ts";
import { isChunked } from "./body/framing.ts";
import { answerProblem } from "./browser.ts";
import { RequestContext, requestIdGenerator, type Services } from "./context.ts";
import { allowOrigin, options } from "./headers/cors.ts";
import { takenByQuery } from "./headers/media-type.ts";
import { HttpProblem, problemFromError } from "./problem.ts";
import { refuseAddress, setRateLimitFields } from "./rate-limit.ts";
import { isHost, readTarget } from "./request-target.ts";
import { type Endpoint, findEndpoint, type Route } from "./routes.ts";

/** What the runtime's own Fetch is; here an answer may be there at once. */
export type Fetch = (
  request: Request,
  peerAddress: () => string,
  extendTimeout?: () => void,
) => MaybePromise<Response>;

export function createFetch(services: Services): Fetch {
  const nextRequestId = requestIdGenerator();
  return (request, peerAddress, extendTimeout) => {
    const context = new RequestContext(services, request, nextRequestId());
    context.peerAddress = peerAddress;
    if (extendTimeout !== undefined) context.extendTimeout = extendTimeout;
    try {
      const answer = checkRequest(context, peerAddress) ?? routeRequest(context);
      if (!(answer instanceof Promise)) return finish(context, answer);
      return answer.then(
        (settled) => finish(context, settled),
        (thrown) => fail(context, thrown),
      );
    } catch (thrown) {
      return fail(context, thrown);
    }
  };
}

/** Refuses what is wrong with the request itself, whoever sent it and wherever it goes. */
function checkRequest(context: RequestContext, peerAddress: () => string): Problem | undefined {
  const { request, services } = context;
  const host = request.headers.get("host");
  const target = readTarget(request.url, host);
  if (target instanceof Problem) return target;
  context.path = target.path;
  context.query = target.query;
  if (host !== null && host !== services.allowedHosts.lastAllowed) {
    const refused = judgeHost(context, host, peerAddress);
    if (refused !== undefined) return refused;
  }
  if (!services.proxies.none) readForwarded(context, peerAddress());
  return refuseAddress(context);
}

/** Health checks name the server by its address. */
const anyHostPaths = new Set(["/-/health", "/-/ready"]);

function judgeHost(
  context: RequestContext,
  host: string,
  peerAddress: () => string,
): Problem | undefined {
  const { allowedHosts, proxies } = context.services;
  if (!isHost(host)) return new Problem("malformed-request", "Send one valid Host field.");
  if (allowedHosts.allows(host)) {
    allowedHosts.lastAllowed = host;
    return undefined;
  }
  const forwarded = context.request.headers.get("x-forwarded-host");
  const isForwarded = allowedHosts.allowsForwarded(forwarded) && proxies.trusts(peerAddress());
  return isForwarded || anyHostPaths.has(context.path) ? undefined : misdirected;
}

const misdirected = new Problem(
  "misdirected",
  "This server does not answer for the host of this request. Use its public address; the operator allows further hosts with --allowed-hosts.",
);

function readForwarded(context: RequestContext, peer: string): void {
  const { headers } = context.request;
  const { proxies } = context.services;
  context.clientAddress = proxies.clientAddress(peer, headers.get("x-forwarded-for"));
  context.inClearText = proxies.cameInClearText(peer, headers.get("x-forwarded-proto"));
}

const knownMethods = new Set(
  "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY".split(" "),
);

function routeRequest(context: RequestContext): MaybePromise<Response | Problem> {
  const { path, request } = context;
  const { method } = request;
  const isSlashed = path.length > 1 && path.endsWith("/") && !path.includes("//");
  // A browser does not follow a redirect of a preflight.
  if (isSlashed && method !== "OPTIONS") return rejectCredentialInUrl(context) ?? redirect(context);
  const match = findEndpoint(isSlashed ? path.slice(0, -1) : path);
  if (match instanceof Problem) return match;
  const { endpoint: place, params } = match;
  context.params = params;
  if (method === "OPTIONS") return options(context, place.allow);
  const door = place.routes[method === "HEAD" ? "GET" : method];
  if (door === undefined) return refuseMethod(method, place);
  return then(authorize(context, door.who), (refused) => refused ?? run(context, door));
}

/** DELETE reads no body. One that comes in chunks is read first, so that a fault in it is known. */
function run(context: RequestContext, door: Route): MaybePromise<Response | Problem> {
  const { method, headers } = context.request;
  if (method !== "DELETE" || !isChunked(headers)) return door.run(context);
  return skipBody(context).then((refused) => refused ?? door.run(context));
}

function refuseMethod(method: string, place: Endpoint): Problem {
  const queries = place.allow.includes("QUERY") && { "accept-query": takenByQuery.types };
  const headers = { allow: place.allow, ...queries };
  return knownMethods.has(method)
    ? new HttpProblem("method-not-allowed", `This address answers ${place.allow}.`, headers)
    : new HttpProblem("not-implemented", "This server does not know the method.", headers);
}

/** One canonical address; 308 keeps method and body. */
function redirect(context: RequestContext): Response {
  const { services, path, query } = context;
  const headers = new Headers(services.commonHeaders);
  headers.set("location", `${services.base}${path.slice(0, -1)}${query === "" ? "" : `?${query}`}`);
  headers.set("cache-control", "no-store");
  // Otherwise Node would send the nothing in chunks.
  headers.set("content-length", "0");
  return new Response(null, { status: 308, headers });
}

/** A HEAD is answered like its GET; the runtime leaves the body out and keeps Content-Length. */
function finish(context: RequestContext, answer: Response | Problem): Response {
  const response = answer instanceof Problem ? answerProblem(context, answer) : answer;
  response.headers.set("x-request-id", context.requestId);
  // A client must not learn it from an answer that anyone could have changed (RFC 6797 §7.2).
  if (context.inClearText) response.headers.delete("strict-transport-security");
  if (context.quotas.length > 0) setRateLimitFields(response.headers, context.quotas);
  allowOrigin(context, response.headers);
  context.services.logRequest?.(context, response.status);
  context.releaseMemory();
  return response;
}

function fail(context: RequestContext, thrown: unknown): Response {
  context.services.logFailure(context, thrown);
  return finish(context, problemFromError(thrown));
}
