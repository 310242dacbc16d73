// The one place where a problem becomes a response (RFC 9457).

import { Problem, type ProblemKind, problemKinds } from "../model/problem.ts";
import { redactSecrets } from "../model/token.ts";
import { Outage } from "../store/store.ts";
import { type RequestContext, requestIdGenerator, type Services } from "./context.ts";

/** A problem born at the HTTP level, with the header fields that go with its status. */
export class HttpProblem extends Problem {
  readonly headers: Readonly<Record<string, string>>;

  constructor(kind: ProblemKind, detail: string, headers: Readonly<Record<string, string>>) {
    super(kind, detail);
    this.headers = headers;
  }
}

/** The compiler keeps it complete. */
export const problemStatus: Readonly<Record<ProblemKind, number>> = {
  "malformed-request": 400,
  "credential-in-url": 400,
  "invalid-parameter": 400,
  "invalid-body": 400,
  "key-required": 400,
  unauthenticated: 401,
  "insufficient-scope": 403,
  "tls-required": 403,
  "not-found": 404,
  "method-not-allowed": 405,
  "not-acceptable": 406,
  timeout: 408,
  conflict: 409,
  gone: 410,
  "precondition-failed": 412,
  "content-too-large": 413,
  "uri-too-long": 414,
  "unsupported-media-type": 415,
  "range-not-satisfiable": 416,
  "expectation-failed": 417,
  misdirected: 421,
  "key-reused": 422,
  "precondition-required": 428,
  "too-many-requests": 429,
  "header-too-large": 431,
  "internal-error": 500,
  damaged: 500,
  "not-implemented": 501,
  unavailable: 503,
  "action-timeout": 504,
  "version-not-supported": 505,
  "storage-full": 507,
};

/** RFC 6750 §3: the challenge always has a realm, and says `error` only when a token was judged. */
export const challenge = (attributes = ""): string => `Bearer realm="restante"${attributes}`;

/** The body of a problem; `instance` is the path alone, because a query may hold what must not be shown. */
export function problemBody(
  problem: Problem,
  base: string,
  instance: string,
  requestId: string,
): string {
  const { kind, detail, errors } = problem;
  const body = {
    type: `${base}/-/problems/${kind}`,
    title: problemKinds[kind].title,
    status: problemStatus[kind],
    detail,
    instance: instance === "" ? undefined : instance,
    requestId,
    errors,
  };
  return redactSecrets(JSON.stringify(body));
}

export function problemResponse(context: RequestContext, problem: Problem): Response {
  const { services, requestId, path } = context;
  const instance = path === "" ? "" : `${services.base}${path}`;
  const body = problemBody(problem, services.base, instance, requestId);
  const headers = problemHeaders(services, problem);
  return new Response(body, { status: problemStatus[problem.kind], headers });
}

export function problemHeaders(services: Services, problem: Problem): Headers {
  const headers = new Headers(services.commonHeaders);
  headers.set("content-type", "application/problem+json");
  headers.set("cache-control", "no-store");
  if (problem.kind === "unauthenticated") headers.set("www-authenticate", challenge());
  if (problem.kind === "insufficient-scope") {
    headers.set(
      "www-authenticate",
      challenge(`, error="insufficient_scope", scope="${problem.scope}"`),
    );
  }
  if (problem.kind === "unavailable") headers.set("retry-after", "1");
  if (problem instanceof HttpProblem) {
    for (const name in problem.headers) headers.set(name, problem.headers[name] ?? "");
  }
  return headers;
}

/** What was thrown: an outage says when to come back, a bug says nothing but its request id. */
export function problemFromError(thrown: unknown): Problem {
  if (!(thrown instanceof Outage)) {
    return new Problem("internal-error", "Something went wrong here; nothing was acknowledged.");
  }
  switch (thrown.reason) {
    case "full":
      return new Problem("storage-full", "There is no room on the disk. Nothing was stored.");
    case "unknown":
      return new Problem(
        "unavailable",
        "The store was lost during the write, so it may or may not have happened. Look before you send it again, or send it again with the same Idempotency-Key.",
      );
    case "busy":
      return new Problem("unavailable", "Too much is waiting. Nothing was stored; try again.");
    case "damaged":
      return new Problem("damaged", `${capitalized(thrown.message)}.`);
    case "unavailable":
      return new Problem("unavailable", "The store cannot be written now. Nothing was stored.");
    case "suspect":
      return new Problem(
        "unavailable",
        "The disk has failed under the database. No write is taken until the data has been copied to new files and verified; reads go on. Nothing was stored.",
      );
  }
}

const capitalized = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** What a runtime's parser refuses, before there is a request to walk with. */
const parserKinds: Readonly<Record<number, ProblemKind>> = {
  408: "timeout",
  413: "content-too-large",
  414: "uri-too-long",
  417: "expectation-failed",
  431: "header-too-large",
  500: "internal-error",
  501: "not-implemented",
  503: "unavailable",
  505: "version-not-supported",
};

export type Refuse = (status: number, detail: string, cause?: unknown) => Response;

export function createRefuse(services: Services): Refuse {
  const nextRequestId = requestIdGenerator();
  return (status, detail, cause) => {
    const problem = new Problem(parserKinds[status] ?? "malformed-request", detail);
    const requestId = nextRequestId();
    services.logRefusal(requestId, problemStatus[problem.kind], detail, cause);
    const headers = problemHeaders(services, problem);
    headers.set("x-request-id", requestId);
    return new Response(problemBody(problem, services.base, "", requestId), {
      status: problemStatus[problem.kind],
      headers,
    });
  };
}
