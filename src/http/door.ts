// The way of every request: admit, find the place, guard, act, answer.

import { Problem } from "../model/problem.ts";
import { type Soon, then } from "../model/soon.ts";
import { skipBody } from "./body/body.ts";
import { isChunked } from "./body/framing.ts";
import { takenByQuery } from "./body/media.ts";
import { answerProblem } from "./browser.ts";
import { allowOrigin, options } from "./cors.ts";
import { Exchange, type House, requestIds } from "./exchange.ts";
import { guard, refuseCredential } from "./guard.ts";
import { problemOf, Refusal } from "./problem.ts";
import { refuseAddress, setRateLimitFields } from "./rate.ts";
import { type Door, findPlace, type Place } from "./routes.ts";
import { isHost, readTarget } from "./target.ts";

/** What the runtime's own Fetch is; here an answer may be there at once. */
export type Fetch = (
  request: Request,
  peerAddress: () => string,
  windClock?: () => void,
) => Soon<Response>;

export function createFetch(house: House): Fetch {
  const nextRequestId = requestIds();
  return (request, peerAddress, windClock) => {
    const exchange = new Exchange(house, request, nextRequestId());
    exchange.peerAddress = peerAddress;
    if (windClock !== undefined) exchange.windClock = windClock;
    try {
      const answer = admit(exchange, peerAddress) ?? walk(exchange);
      if (!(answer instanceof Promise)) return finish(exchange, answer);
      return answer.then(
        (settled) => finish(exchange, settled),
        (thrown) => fail(exchange, thrown),
      );
    } catch (thrown) {
      return fail(exchange, thrown);
    }
  };
}

/** Refuses what is wrong with the request itself, whoever sent it and wherever it goes. */
function admit(exchange: Exchange, peerAddress: () => string): Problem | undefined {
  const { request, house } = exchange;
  const host = request.headers.get("host");
  const target = readTarget(request.url, host);
  if (target instanceof Problem) return target;
  exchange.path = target.path;
  exchange.query = target.query;
  if (host !== null && host !== house.allowedHosts.lastAllowed) {
    const refused = judgeHost(exchange, host, peerAddress);
    if (refused !== undefined) return refused;
  }
  if (!house.proxies.none) lookBehindProxy(exchange, peerAddress());
  return refuseAddress(exchange);
}

/** Health checks name the server by its address. */
const anyHostPaths = new Set(["/-/health", "/-/ready"]);

function judgeHost(
  exchange: Exchange,
  host: string,
  peerAddress: () => string,
): Problem | undefined {
  const { allowedHosts, proxies } = exchange.house;
  if (!isHost(host)) return new Problem("malformed-request", "Send one valid Host field.");
  if (allowedHosts.allows(host)) {
    allowedHosts.lastAllowed = host;
    return undefined;
  }
  const forwarded = exchange.request.headers.get("x-forwarded-host");
  const isForwarded = allowedHosts.allowsForwarded(forwarded) && proxies.trusts(peerAddress());
  return isForwarded || anyHostPaths.has(exchange.path) ? undefined : misdirected;
}

const misdirected = new Problem(
  "misdirected",
  "This server does not answer for the host of this request. Use its public address; the operator allows further hosts with --allowed-hosts.",
);

function lookBehindProxy(exchange: Exchange, peer: string): void {
  const { headers } = exchange.request;
  const { proxies } = exchange.house;
  exchange.clientAddress = proxies.clientAddress(peer, headers.get("x-forwarded-for"));
  exchange.inClearText = proxies.cameInClearText(peer, headers.get("x-forwarded-proto"));
}

const knownMethods = new Set(
  "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY".split(" "),
);

function walk(exchange: Exchange): Soon<Response | Problem> {
  const { path, request } = exchange;
  const { method } = request;
  const isSlashed = path.length > 1 && path.endsWith("/") && !path.includes("//");
  // A browser does not follow a redirect of a preflight.
  if (isSlashed && method !== "OPTIONS") return refuseCredential(exchange) ?? redirect(exchange);
  const match = findPlace(isSlashed ? path.slice(0, -1) : path);
  if (match instanceof Problem) return match;
  const { place, params } = match;
  exchange.params = params;
  if (method === "OPTIONS") return options(exchange, place.allow);
  const door = place.doors[method === "HEAD" ? "GET" : method];
  if (door === undefined) return refuseMethod(method, place);
  return then(guard(exchange, door.who), (refused) => refused ?? run(exchange, door));
}

/** DELETE reads no body. One that comes in chunks is read first, so that a fault in it is known. */
function run(exchange: Exchange, door: Door): Soon<Response | Problem> {
  const { method, headers } = exchange.request;
  if (method !== "DELETE" || !isChunked(headers)) return door.run(exchange);
  return skipBody(exchange).then((refused) => refused ?? door.run(exchange));
}

function refuseMethod(method: string, place: Place): Problem {
  const queries = place.allow.includes("QUERY") && { "accept-query": takenByQuery.types };
  const headers = { allow: place.allow, ...queries };
  return knownMethods.has(method)
    ? new Refusal("method-not-allowed", `This address answers ${place.allow}.`, headers)
    : new Refusal("not-implemented", "This server does not know the method.", headers);
}

/** One canonical address; 308 keeps method and body. */
function redirect(exchange: Exchange): Response {
  const { house, path, query } = exchange;
  const headers = new Headers(house.commonHeaders);
  headers.set("location", `${house.base}${path.slice(0, -1)}${query === "" ? "" : `?${query}`}`);
  headers.set("cache-control", "no-store");
  // Otherwise Node would send the nothing in chunks.
  headers.set("content-length", "0");
  return new Response(null, { status: 308, headers });
}

/** A HEAD is answered like its GET; the runtime leaves the body out and keeps Content-Length. */
function finish(exchange: Exchange, answer: Response | Problem): Response {
  const response = answer instanceof Problem ? answerProblem(exchange, answer) : answer;
  response.headers.set("x-request-id", exchange.requestId);
  // A client must not learn it from an answer that anyone could have changed (RFC 6797 §7.2).
  if (exchange.inClearText) response.headers.delete("strict-transport-security");
  if (exchange.quotas.length > 0) setRateLimitFields(response.headers, exchange.quotas);
  allowOrigin(exchange, response.headers);
  exchange.house.logRequest?.(exchange, response.status);
  exchange.releaseMemory();
  return response;
}

function fail(exchange: Exchange, thrown: unknown): Response {
  exchange.house.logFailure(exchange, thrown);
  return finish(exchange, problemOf(thrown));
}
