// Assertions for problems and links, and a response that has been read.

import assert from "node:assert/strict";
import { problemStatus, problemType } from "../../src/http/response/problem.ts";
import { type ProblemKind, problemKinds } from "../../src/model/problem.ts";

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly requestId: string;
  readonly errors?: readonly {
    readonly pointer?: string;
    readonly parameter?: string;
    readonly detail: string;
  }[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Checks the format of a problem (RFC 9457), which no cache stores. */
export function assertProblem(answer: Answer, kind: ProblemKind, base = ""): ProblemBody {
  const { status, headers, body } = answer;
  assert.equal(status, problemStatus[kind], `${status} ${body}`);
  assert.equal(headers.get("content-type"), "application/problem+json");
  assert.equal(headers.get("cache-control"), "no-store");
  const problem = JSON.parse(body) as ProblemBody;
  assert.equal(problem.type, problemType(kind, base));
  assert.equal(problem.title, problemKinds[kind].title);
  assert.equal(problem.status, status);
  assert.equal(problem.requestId, headers.get("x-request-id"));
  assert.ok(problem.detail.length > 0);
  return problem;
}

/** Reads the whole response. */
export async function answerOf(response: Response | Promise<Response>): Promise<Answer> {
  const { status, headers } = await response;
  return { status, headers, body: await (await response).text() };
}

export async function expectProblem(
  response: Response | Promise<Response>,
  kind: ProblemKind,
  base = "",
): Promise<ProblemBody> {
  return assertProblem(await answerOf(response), kind, base);
}

/** Parses a Link header (RFC 8288 §3) by relation; anything else in it is an error. */
export function readLinks(field: string | null): Readonly<Record<string, string>> {
  const link = /\s*<([^<>\s]*)>\s*;\s*rel="([a-z]+)"\s*(?:,(?!$)|$)/y;
  const found: Record<string, string> = {};
  const text = field ?? "";
  while (link.lastIndex < text.length) {
    const at = link.lastIndex;
    const [, target, relation] = link.exec(text) ?? [];
    assert.ok(target !== undefined && relation !== undefined, `not a link: ${text.slice(at)}`);
    assert.ok(!(relation in found), `two links are ${relation}`);
    found[relation] = target;
  }
  return found;
}
