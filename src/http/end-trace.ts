// Ends the trace of a request with the attributes of the HTTP semantic conventions, and nothing secret.

import { withoutIpv4Prefix } from "../lib/ip-address.ts";
import type { Attributes, Trace } from "../lib/traces.ts";
import { redactSecrets } from "../model/secret.ts";
import { addressOf } from "./request/client-address.ts";
import type { RequestContext } from "./request/context.ts";
import { loggedPath } from "./request-log.ts";

/** Any other name would make the number of names unbounded. */
const knownMethods = new Set(
  "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY".split(" "),
);

/** Has the path but never the query, which may contain secrets. */
export function endTrace(context: RequestContext, trace: Trace, status: number): void {
  const { request, route, path, problem, requestId, services } = context;
  const method = knownMethods.has(request.method) ? request.method : "_OTHER";
  const attributes: Attributes = {
    "http.request.method": method,
    "url.path": redactSecrets(loggedPath(services.apiPath + path)),
    "url.scheme": request.url.startsWith("https:") ? "https" : "http",
    "http.response.status_code": status,
    "client.address": withoutIpv4Prefix(addressOf(context)),
    "restante.request_id": requestId,
    ...(route && { "http.route": route.path }),
    ...(problem && { "restante.problem": problem }),
    ...(status >= 500 && { "error.type": problem ?? String(status) }),
  };
  const name = route === undefined ? method : `${method} ${route.path}`;
  trace.end(name, attributes, status >= 500);
}
