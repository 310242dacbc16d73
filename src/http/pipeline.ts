// Processes every request: checks it, finds its route, authorizes it, runs the handler and finishes the response.

import type { Fetch } from "../lib/client.ts";
import { type MaybePromise, then } from "../lib/maybe-promise.ts";
import { discard, type Reply, responseOf } from "../lib/reply.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { skipBody } from "./body/content.ts";
import { isChunked } from "./body/framing.ts";
import { allowOrigin, options } from "./cors.ts";
import { endTrace } from "./end-trace.ts";
import { asksForUpload, runResumable } from "./files/resumable.ts";
import { HttpProblem } from "./headers/http-problem.ts";
import { queryTypes } from "./headers/media-type.ts";
import { checkWithoutValidators } from "./headers/without-validators.ts";
import { PreparedResponses, readForwarded } from "./prepared-responses.ts";
import { authorize, authorizeAgain, rejectCredentialInUrl } from "./request/authorize.ts";
import { checkHost } from "./request/check-host.ts";
import {
  type CurrentServices,
  type LineOptions,
  RequestContext,
  requestIdGenerator,
} from "./request/context.ts";
import { limitAddress, setRateLimitFields } from "./request/rate-limit.ts";
import { readTarget } from "./request/request-target.ts";
import type { Route } from "./request/route.ts";
import { answerProblem } from "./response/browser.ts";
import { problemFromError } from "./response/problem.ts";
import { emptyReply, setDate } from "./response/response.ts";
import { type Endpoint, findEndpoint } from "./router.ts";

export function createFetch(current: CurrentServices): Fetch {
  const nextRequestId = requestIdGenerator();
  let prepared = new PreparedResponses(current.services);
  const settle = (context: RequestContext, result: Reply | Problem) => {
    if (!(result instanceof Problem)) prepared.add(context, result);
    return finish(context, result);
  };
  const handle = (context: RequestContext): MaybePromise<Reply> => {
    try {
      const repeated = prepared.find(context);
      if (repeated !== undefined)
        return repeated instanceof Problem
          ? finish(context, repeated)
          : complete(context, repeated);
      const result = checkRequest(context) ?? routeRequest(context);
      if (!(result instanceof Promise)) return settle(context, result);
      return result.then(
        (settled) => settle(context, settled),
        (thrown) => fail(context, thrown),
      );
    } catch (thrown) {
      return fail(context, thrown);
    }
  };
  return (request, client) => {
    const { services } = current;
    if (services !== prepared.services) prepared = new PreparedResponses(services);
    const context = new RequestContext(services, request, nextRequestId());
    context.client = client;
    if (services.traces === undefined) return handle(context);
    context.trace = services.traces.start(request.headers);
    return context.trace === undefined ? handle(context) : context.trace.run(() => handle(context));
  };
}

/** Handles a request that a command makes in its own process, as `system`. */
export type SystemFetch = (request: Request, lines?: LineOptions) => Promise<Response>;

export function createSystemFetch(current: CurrentServices): SystemFetch {
  const nextRequestId = requestIdGenerator();
  return async (request, lines) => {
    const context = new RequestContext(current.services, request, nextRequestId());
    context.principal = system;
    context.lineOptions = lines;
    try {
      return responseOf(finish(context, await (checkRequest(context) ?? routeRequest(context))));
    } catch (thrown) {
      return responseOf(fail(context, thrown));
    }
  };
}

/** Checks the request target, the host and the rate limit of the address. */
function checkRequest(context: RequestContext): Problem | undefined {
  const { request, services } = context;
  const host = request.headers.get("host");
  const target = isWholeServer(request.url) ? wholeServer : readTarget(request.url, host);
  if (target instanceof Problem) return target;
  context.path = target.path;
  context.query = target.query;
  // Commands name paths of the API.
  if (services.apiPath !== "" && context.principal !== system) leaveApiPath(context);
  const rejected = checkHost(context, host);
  if (rejected !== undefined) return rejected;
  if (!services.proxies.isEmpty) readForwarded(context);
  return services.rateLimitPerAddress === 0 ? undefined : limitAddress(context);
}

/** Makes the path relative to that of the API, and lets other requests use what is outside of it. */
function leaveApiPath(context: RequestContext): void {
  const { path, services } = context;
  const { apiPath, outside = services } = services;
  if (path === apiPath || path.startsWith(`${apiPath}/`))
    context.path = path.slice(apiPath.length) || "/";
  else context.services = outside;
}

/** The target of `OPTIONS *`; the runtime passes on no other method with it. */
const wholeServer = { path: "*", query: "" };

/** Its URL is `http://host*`: there is no path (RFC 9112 §3.2.4). */
const isWholeServer = (url: string): boolean =>
  url.endsWith("*") && url.startsWith("http") && !url.includes("/", 8);

const knownMethods = new Set(
  "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY".split(" "),
);

/** Finds the route of the request, authorizes it and runs its handler. */
export function routeRequest(context: RequestContext): MaybePromise<Reply | Problem> {
  const { path, method } = context;
  if (path === wholeServer.path) return options(context, undefined);
  if (context.services.website !== undefined) return context.services.website(context);
  const isSlashed = path.length > 1 && path.endsWith("/") && !path.includes("//");
  // A browser does not follow a redirect of a preflight.
  if (isSlashed && method !== "OPTIONS") return rejectCredentialInUrl(context) ?? redirect(context);
  const match = findEndpoint(isSlashed ? path.slice(0, -1) : path);
  if (match instanceof Problem) return match;
  const { endpoint, params } = match;
  context.params = params;
  if (method === "OPTIONS") return options(context, endpoint.allow);
  const route = endpoint.routes[method === "HEAD" ? "GET" : method];
  if (route === undefined) return methodProblem(method, endpoint);
  context.route = route;
  if (!isSafe(route) && context.request.headers.has("early-data")) return tooEarly;
  const authorized =
    context.trace === undefined
      ? authorize(context, route.permission)
      : context.trace.measure("authorize", () => authorize(context, route.permission));
  return then(authorized, (rejected) => rejected ?? run(context, route));
}

const isSafe = ({ method }: { readonly method: string }): boolean =>
  method === "GET" || method === "QUERY";

/** Any value of Early-Data counts (RFC 8470 §5.1). */
const tooEarly = new Problem(
  "too-early",
  "The request may be a replay, because it was sent before the handshake of TLS was complete. Send it again.",
);

/** DELETE ignores its body, but reads a chunked one first to find errors in it. */
function run(context: RequestContext, route: Route): MaybePromise<Reply | Problem> {
  const { method, headers } = context.request;
  if (asksForUpload(context.request)) return runResumable(context, route);
  if (route.method === "GET" && headers.has("if-match"))
    return then(route.handler(context), (result) => checkMatch(headers, result));
  if (method !== "DELETE" || !isChunked(headers)) return route.handler(context);
  return skipBody(context).then(
    async (rejected) => rejected ?? (await authorizeAgain(context)) ?? route.handler(context),
  );
}

/** Handlers compare the tags of what has one. */
function checkMatch(headers: Headers, result: Reply | Problem): Reply | Problem {
  if (result instanceof Problem || result.status >= 300) return result;
  if (result.fields.has("etag") || headers.get("if-match")?.trim() === "*") return result;
  const failed = checkWithoutValidators(headers, "is shown");
  if (failed !== undefined) discard(result);
  return failed ?? result;
}

function methodProblem(method: string, endpoint: Endpoint): Problem {
  const queries = endpoint.allow.includes("QUERY") && { "Accept-Query": queryTypes.types };
  const headers = { Allow: endpoint.allow, ...queries };
  return knownMethods.has(method)
    ? new HttpProblem("method-not-allowed", `This address allows ${endpoint.allow}.`, headers)
    : new HttpProblem("not-implemented", "This server does not implement the method.", headers);
}

/** Redirects to the address without a trailing slash; 308 keeps method and body. */
function redirect(context: RequestContext): Reply {
  const { services, path, query } = context;
  const reply = emptyReply(context, 308);
  const target = `${services.base}${path.slice(0, -1)}${query === "" ? "" : `?${query}`}`;
  reply.fields.set("Location", target);
  return reply;
}

/** Adds the request id to a reply, whose fields are its own. */
function finish(context: RequestContext, result: Reply | Problem): Reply {
  const isProblem = result instanceof Problem;
  if (isProblem) context.problem = result.kind;
  context.trace?.beginAnswer();
  const reply = isProblem ? answerProblem(context, result) : result;
  reply.fields.set("X-Request-Id", context.requestId);
  return complete(context, reply);
}

/** Adds what depends on the caller, and measures and logs the request. The runtime removes the body for HEAD. */
function complete(context: RequestContext, reply: Reply): Reply {
  const { status, fields } = reply;
  // HSTS must not be sent over plain HTTP, where anyone could change it (RFC 6797 §7.2).
  if (context.inClearText) fields.delete("strict-transport-security");
  if (context.quotas.length > 0) setRateLimitFields(fields, context.quotas);
  if (context.services.corsOrigins !== "*") allowOrigin(context, fields);
  setDate(reply, context.request);
  const { measureRequest, logRequest } = context.services;
  const ms = performance.now() - context.startedAt;
  measureRequest(context, status, ms);
  logRequest?.(context, status, ms);
  if (context.trace !== undefined) endTrace(context, context.trace, status);
  context.releaseMemory();
  return reply;
}

function fail(context: RequestContext, thrown: unknown): Reply {
  context.services.logFailure(context, thrown);
  const isRead = context.route !== undefined && isSafe(context.route);
  return finish(context, problemFromError(thrown, isRead));
}
