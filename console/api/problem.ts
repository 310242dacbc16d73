// How the console shows a problem (RFC 9457) that the client has thrown.

import { Problem, type ProblemDetail } from "../../client/problem.ts";

export { Problem, type ProblemDetail } from "../../client/problem.ts";

/** The same answer, which its header fields tell, with fewer errors; undefined when none is left. */
export function leftWith(problem: Problem, errors: readonly ProblemDetail[]): Problem | undefined {
  if (errors.length === problem.errors.length) return problem;
  if (errors.length === 0) return undefined;
  const { status, kind: type, title, detail, headers } = problem;
  return new Problem(status, { type, title, detail, errors }, headers);
}

/** What is wrong, in one line: the errors if there are any. */
export function reasonOf(error: unknown): string {
  const problem = asProblem(error);
  const details = problem.errors.map(({ pointer = "", parameter, detail }) => {
    const name = parameter ?? pointer.slice(1);
    return name === "" || detail.startsWith(name) ? detail : `${name} ${detail}`;
  });
  return details.length === 0 ? problem.detail : details.join("; ");
}

/** A failure of the console itself is shown as a problem, too. */
export const asProblem = (error: unknown): Problem =>
  error instanceof Problem
    ? error
    : new Problem(-1, { title: "The console failed", detail: String(error) });
