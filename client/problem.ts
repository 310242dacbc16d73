// What a request throws that did not succeed.

import {
  errorsAt,
  kindOf,
  type ProblemBody,
  type ProblemDetail,
  problemBodyOf,
} from "./problem-body.ts";

export type { ProblemDetail } from "./problem-body.ts";

/** The server refused a request, or failed (RFC 9457). */
export class Problem extends Error {
  override readonly name: string = "Problem";
  /** Such as `not-found`: the last part of the problem's type. */
  readonly kind: string;
  /** One short sentence, always the same for a kind. */
  readonly title: string;
  /** What is wrong this time. The message has the errors in addition. */
  readonly detail: string;
  readonly status: number;
  readonly errors: readonly ProblemDetail[];
  readonly requestId: string | undefined;
  readonly headers: Headers;

  constructor(status: number, body: ProblemBody, headers = new Headers()) {
    const detail = body.detail ?? body.title ?? `The server answered ${status}.`;
    super(messageOf(detail, body));
    this.detail = detail;
    this.kind = kindOf(body);
    this.title = body.title ?? `The server answered ${status}`;
    this.status = status;
    this.errors = body.errors ?? [];
    this.requestId = body.requestId ?? headers.get("x-request-id") ?? undefined;
    this.headers = headers;
  }

  /** The errors of a member of the body, such as `/address/city`, and of what is below it. */
  at(pointer: string): readonly ProblemDetail[] {
    return errorsAt(this.errors, pointer);
  }
}

/** With each error, so that a log says what is wrong. */
function messageOf(text: string, { errors = [] }: ProblemBody): string {
  const list = errors.map(({ pointer, parameter, detail }) => `${pointer ?? parameter}: ${detail}`);
  return [text, ...list].join("\n");
}

/** Someone else has changed the resource. Both versions are here, to decide. */
export class Conflict<T = unknown> extends Problem {
  override readonly name = "Conflict";
  /** The state that the change was made from. */
  readonly base: T;
  /** The state now; undefined when the resource is gone. */
  readonly current: T | undefined;
  /** What was sent. */
  readonly sent: unknown;

  constructor(problem: Problem, base: T, current: T | undefined, sent: unknown) {
    const { status, kind: type, title, detail, errors, headers } = problem;
    super(status, { type, title, detail, errors }, headers);
    this.base = base;
    this.current = current;
    this.sent = sent;
  }
}

/** There was no answer: the network failed, the server does not run, or what came is none of its answers. What was sent may have arrived. */
export class NoAnswer extends Problem {
  override readonly name = "NoAnswer";

  constructor(cause: unknown) {
    const title = "The server does not answer";
    const isRead = cause instanceof SyntaxError;
    const detail = isRead ? `${title} with JSON: ${cause.message}` : `${title}.`;
    super(0, { type: "no-answer", title, detail });
    this.cause = cause;
  }
}

export async function readProblem(response: Response): Promise<Problem> {
  const { status, headers, type } = response;
  // A browser does not tell the status of a redirect.
  if (type === "opaqueredirect" || (status >= 300 && status < 400))
    return new Problem(status || 302, { title: movedTitle, detail: movedDetail(headers) }, headers);
  const body = await response.json().catch(() => undefined);
  return new Problem(status, problemBodyOf(body), headers);
}

const movedTitle = "The server is at another address";
const movedDetail = (headers: Headers): string =>
  `${movedTitle}: ${headers.get("location") ?? "it redirects"}. Nothing was written.`;
