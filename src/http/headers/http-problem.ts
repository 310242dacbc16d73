// A problem with response headers, and the challenge of WWW-Authenticate.

import { Problem, type ProblemKind } from "../../model/problem.ts";

/** A problem of the HTTP layer, with the header fields that its status needs. */
export class HttpProblem extends Problem {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    kind: ProblemKind,
    detail: string,
    headers: Readonly<Record<string, string>>,
    more: ConstructorParameters<typeof Problem>[2] = {},
  ) {
    super(kind, detail, more);
    this.headers = headers;
  }
}

/** RFC 6750 §3: the challenge always has a realm, and `error` only when a token was checked. */
export const challenge = (attributes = ""): string => `Bearer realm="restante"${attributes}`;
