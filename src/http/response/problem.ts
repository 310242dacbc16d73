// Turns problems and thrown errors into replies (RFC 9457).

import { clientLeft } from "../../domain/problems.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import type { ListedIndex } from "../../model/listed-index.ts";
import { FileOutage, Outage } from "../../model/outage.ts";
import { Problem, type ProblemKind, problemKinds } from "../../model/problem.ts";
import type { ProblemBody } from "../../model/schemas/problem.ts";
import { redactSecrets } from "../../model/secret.ts";
import { challenge, HttpProblem } from "../headers/http-problem.ts";
import {
  type CurrentServices,
  type RequestContext,
  requestIdGenerator,
  type Services,
} from "../request/context.ts";

/** The type makes sure that every kind has a status. */
export const problemStatus: Readonly<Record<ProblemKind, number>> = {
  "malformed-request": 400,
  "credential-in-url": 400,
  "invalid-parameter": 400,
  "invalid-body": 400,
  "key-required": 400,
  unauthenticated: 401,
  "insufficient-scope": 403,
  forbidden: 403,
  "invalid-signature": 403,
  "tls-required": 403,
  "not-found": 404,
  "completed-upload": 400,
  "inconsistent-upload-length": 400,
  "mismatching-upload-offset": 409,
  "method-not-allowed": 405,
  "not-acceptable": 406,
  timeout: 408,
  "query-timeout": 504,
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
  "unprocessable-picture": 422,
  "too-early": 425,
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

/** The kinds whose type is that of draft-ietf-httpbis-resumable-upload. */
const registered: ReadonlySet<ProblemKind> = new Set([
  "mismatching-upload-offset",
  "inconsistent-upload-length",
  "completed-upload",
]);
const registry = "https://iana.org/assignments/http-problem-types#";

export const problemType = (kind: ProblemKind, base: string): string =>
  registered.has(kind) ? `${registry}${kind}` : `${base}/-/problems/${kind}`;

/** Returns the body of a problem; `instance` is only the path, because a query may contain secrets. */
export function problemBody(
  problem: Problem,
  base: string,
  instance: string,
  requestId: string,
): string {
  const { kind, detail, errors, offsets } = problem;
  const [expected = 0, provided = 0] = offsets ?? [];
  const body: ProblemBody = {
    type: problemType(kind, base),
    title: problemKinds[kind].title,
    status: problemStatus[kind],
    detail,
    ...(instance !== "" && { instance }),
    requestId,
    ...(errors && { errors }),
    ...(offsets && { "expected-offset": expected, "provided-offset": provided }),
  };
  return redactSecrets(JSON.stringify(body));
}

export function problemReply(context: RequestContext, problem: Problem): Reply {
  const { services, requestId, path } = context;
  const status = problemStatus[problem.kind];
  const instance = path === "" ? "" : `${services.pathBase}${path}`;
  const body = problemBody(problem, services.base, instance, requestId);
  return replyOf(status, problemFields(services, problem), body);
}

export function problemFields(services: Services, problem: Problem): ReplyFields {
  const fields = new ReplyFields(services.problemFields);
  if (problem.kind === "unauthenticated") fields.set("WWW-Authenticate", challenge());
  if (problem.kind === "insufficient-scope") {
    fields.set(
      "www-authenticate",
      challenge(`, error="insufficient_scope", scope="${problem.scope}"`),
    );
  }
  if (problem.kind === "unavailable") fields.set("Retry-After", "1");
  if (problem instanceof HttpProblem) {
    for (const name in problem.headers) fields.set(name, problem.headers[name] ?? "");
  }
  return fields;
}

interface QueryAdvice {
  readonly indexes?: readonly ListedIndex[] | undefined;
  /** Those of other collections, by their names. */
  readonly related?: readonly (readonly [collection: string, indexes: readonly ListedIndex[]])[];
  /** Those that help only without a total. */
  readonly uncounted?: readonly ListedIndex[];
  /** Fields without a declared type. */
  readonly undeclared?: readonly string[] | undefined;
  readonly isCounted?: boolean;
}

/** Says what would help. */
export function queryTimeout(
  { message }: Outage,
  {
    indexes = [],
    related = [],
    uncounted = [],
    undeclared = [],
    isCounted = false,
  }: QueryAdvice = {},
): Problem {
  const quoted = (items: readonly ListedIndex[]) =>
    items.map((item) => JSON.stringify(item)).join(" and ");
  const names = quoted(indexes);
  const withoutTotal =
    uncounted.length === 0
      ? "send total=none"
      : `send total=none and add ${quoted(uncounted)} to "indexed"`;
  const advice = [
    ...(names === "" ? [] : [`add ${names} to "indexed" in the definition`]),
    ...related.map(
      ([name, some]) => `add ${quoted(some)} to "indexed" in the definition of ${name}`,
    ),
    ...(undeclared.length === 0 ? [] : [`declare the type of ${quoted(undeclared)} in the schema`]),
    "narrow it",
    ...(isCounted ? [withoutTotal] : []),
  ];
  const last = advice.pop();
  const text = advice.length === 0 ? `${last}` : `${advice.join(", ")}, or ${last}`;
  return new Problem("query-timeout", `${capitalized(message)}. ${capitalized(text)}.`);
}

/** Returns the problem for a thrown error: an outage is described, a bug is not. */
export function problemFromError(thrown: unknown, isRead = false): Problem {
  if (!(thrown instanceof Outage)) {
    return new Problem(
      "internal-error",
      "The server failed to process the request. Its log has the details under this request id.",
    );
  }
  const isOfFiles = thrown instanceof FileOutage;
  if (isOfFiles && !["unknown", "damaged"].includes(thrown.reason))
    return filesProblem(thrown, isRead);
  switch (thrown.reason) {
    case "full":
      return new Problem("storage-full", "The disk is full. Nothing was stored.");
    case "unknown":
      return new Problem(
        "unavailable",
        "The connection to the store was lost during the write, so the change may or may not be stored. Check before you send it again, or send it again with the same Idempotency-Key.",
      );
    case "busy":
      return new Problem(
        "unavailable",
        "Too many writes are waiting. Nothing was stored; try again later.",
      );
    case "timeout":
      return queryTimeout(thrown);
    case "crowded":
      return new Problem(
        "unavailable",
        "Too many queries are waiting. Try again later, or send fewer queries at a time.",
      );
    case "cancelled":
      return clientLeft;
    case "damaged":
      return new Problem("damaged", `${capitalized(thrown.message)}.`);
    case "unavailable":
      return new Problem(
        "unavailable",
        isRead
          ? "The store cannot be read now. Try again later."
          : "The store cannot accept writes now. Nothing was stored; try again later.",
      );
    case "suspect":
      return new Problem(
        "unavailable",
        "The disk of the database has failed. Writes are rejected until the data is copied to new files and verified; reads still work. Nothing was stored.",
      );
  }
}

/** The message is for the log. */
function filesProblem({ reason }: FileOutage, isRead: boolean): Problem {
  const result = isRead ? "" : " Nothing was stored.";
  return reason === "full"
    ? new Problem("storage-full", `The storage of files is full.${result}`)
    : new Problem(
        "unavailable",
        `The storage of files does not answer now.${result} Requests without files work. Try again later.`,
      );
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The kinds of problems that a runtime's HTTP parser reports before there is a request. */
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

export type ParserErrorResponder = (status: number, detail: string, cause?: unknown) => Reply;

export function createParserErrorResponder(current: CurrentServices): ParserErrorResponder {
  const nextRequestId = requestIdGenerator();
  return (status, detail, cause) => {
    const { services } = current;
    const problem = new Problem(parserKinds[status] ?? "malformed-request", detail);
    const requestId = nextRequestId();
    services.logRefusal(requestId, problemStatus[problem.kind], detail, cause);
    const fields = problemFields(services, problem);
    fields.set("X-Request-Id", requestId);
    const body = problemBody(problem, services.base, "", requestId);
    return replyOf(problemStatus[problem.kind], fields, body);
  };
}
