// A problem (RFC 9457) that the server answered with, as an error.

import {
  errorsAt,
  kindOf,
  type ProblemBody,
  type ProblemDetail,
  problemBodyOf,
} from "../../client/problem-body.ts";

export type { ProblemDetail } from "../../client/problem-body.ts";

export class Problem extends Error {
  readonly status: number;
  /** The last segment of its type, such as `invalid-body`; `offline` when there was no answer. */
  readonly kind: string;
  readonly title: string;
  readonly errors: readonly ProblemDetail[];
  readonly requestId: string | undefined;
  /** The answer that it came with, when some of its errors were left out. */
  readonly source: Problem = this;

  constructor(status: number, body: ProblemBody) {
    super(body.detail ?? body.title ?? `The server answered ${status}.`);
    this.status = status;
    this.kind = kindOf(body);
    this.title = body.title ?? "The request failed";
    this.errors = body.errors ?? [];
    this.requestId = body.requestId;
  }

  /** The same with fewer errors; undefined when none is left. */
  leftWith(errors: readonly ProblemDetail[]): Problem | undefined {
    if (errors.length === this.errors.length) return this;
    if (errors.length === 0) return undefined;
    return Object.assign(Object.create(Problem.prototype) as Problem, this, { errors });
  }

  /** What is wrong, in one line: the errors if there are any. */
  get reason(): string {
    const details = this.errors.map(({ pointer = "", parameter, detail }) => {
      const name = parameter ?? pointer.slice(1);
      return name === "" || detail.startsWith(name) ? detail : `${name} ${detail}`;
    });
    return details.length === 0 ? this.message : details.join("; ");
  }

  /** The errors of a field and of what is below it. */
  at(pointer: string): readonly ProblemDetail[] {
    return errorsAt(this.errors, pointer);
  }
}

export const offline = (): Problem =>
  new Problem(0, {
    type: "offline",
    title: "The server does not answer",
    detail: "The server cannot be reached. The console tries again automatically.",
  });

/** Reads the problem of a response that is not a success. */
export async function readProblem(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => undefined);
  return new Problem(response.status, problemBodyOf(body));
}

/** A failure of the console itself is shown as a problem, too. */
export const asProblem = (error: unknown): Problem =>
  error instanceof Problem
    ? error
    : new Problem(-1, { title: "The console failed", detail: String(error) });
