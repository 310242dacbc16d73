// Describes the problems of operations in the OpenAPI document.

import { Problem, type ProblemKind, problemKinds } from "../../model/problem.ts";
import { problemSchema } from "../../model/schemas/problem.ts";
import type { Permission } from "../request/permission.ts";
import type { Route } from "../request/route.ts";
import { problemBody, problemStatus } from "../response/problem.ts";
import { commonHeaders, headers } from "./headers.ts";

/** Routes that no rules of a collection decide. */
const withoutRules: ReadonlySet<Permission> = new Set(["anyone", "admin", "metrics", "issue"]);

/** The statuses of the problems that an operation may return. */
export function problemStatuses({ method, permission, operation }: Route): readonly number[] {
  const { responses, body, problems = [] } = operation;
  const types = Object.values(responses).flatMap(({ content = {} }) => Object.keys(content));
  const isNegotiated = types.some((type) => type !== "*/*");
  return [
    400,
    401,
    414,
    421,
    429,
    500,
    ...(isNegotiated ? [406] : []),
    ...(permission === "anyone" ? [] : [503]),
    ...(permission === "anyone" || permission === "optional-token" ? [] : [403]),
    ...(body === undefined ? [] : [413, 415]),
    ...(method === "GET" || method === "QUERY" ? [] : [507]),
    // Sets of callers, and what refers to a resource that is deleted, are found by queries.
    ...(withoutRules.has(permission) || problems.includes(504) ? [] : [504]),
    ...problems,
  ].sort();
}

/** The header fields that belong to a status. */
const headersOfStatus: Readonly<Record<number, Readonly<Record<string, object>>>> = {
  401: { "WWW-Authenticate": headers.wwwAuthenticate },
  403: { "WWW-Authenticate": headers.wwwAuthenticate },
  415: {
    Accept: headers.accept,
    "Accept-Post": headers.acceptPost,
    "Accept-Patch": headers.acceptPatch,
    "Accept-Encoding": headers.acceptEncoding,
  },
  416: { "Content-Range": headers.fileSize },
  429: {
    "Retry-After": headers.retryAfter,
    RateLimit: headers.rateLimit,
    "RateLimit-Policy": headers.rateLimitPolicy,
  },
  503: { "Retry-After": headers.retryAfter },
};

/** Any problem; code generators make less of it than of a response for each status. */
export const otherProblem = {
  description:
    "Any other problem; its `type` is the URL of a page about it, and `/-/problems` lists them all.",
  headers: {
    ...commonHeaders,
    "WWW-Authenticate": headers.wwwAuthenticate,
    RateLimit: headers.rateLimit,
    "RateLimit-Policy": headers.rateLimitPolicy,
  },
  content: { "application/problem+json": { schema: problemSchema } },
};

/** The responses by status; each lists the kinds of problems with that status. */
export function problemResponses(base: string): Readonly<Record<number, object>> {
  const kinds = Object.keys(problemKinds) as ProblemKind[];
  const byStatus = [...Map.groupBy(kinds, (kind) => problemStatus[kind])];
  return Object.fromEntries(
    byStatus.map(([status, some]) => [status, problemReply(status, some, base)]),
  );
}

const problemReply = (status: number, kinds: readonly ProblemKind[], base: string) => ({
  description: kinds.map((kind) => `\`${kind}\`: ${problemKinds[kind].title}.`).join(" "),
  headers: { ...commonHeaders, ...headersOfStatus[status] },
  content: {
    "application/problem+json": {
      schema: problemSchema,
      examples: Object.fromEntries(kinds.map((kind) => [kind, problemExample(kind, base)])),
    },
  },
});

function problemExample(kind: ProblemKind, base: string) {
  const [detail = ""] = problemKinds[kind].about.split(/(?<=\.) /);
  const body = problemBody(new Problem(kind, detail), base, `${base}/people`, "5b2f8c1e-1");
  return { summary: problemKinds[kind].title, value: JSON.parse(body) };
}
