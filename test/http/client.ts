// Short words for what a test asks of a server: one client with one token.

import assert from "node:assert/strict";
import type { ProblemKind } from "../../src/model/problem.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

type Fields = Readonly<Record<string, string>>;

/** Text goes as it is, anything else as JSON. */
type Body = unknown;

/** What sends the requests: an app in this process, or a server in one of its own. */
export interface Line {
  request(path: string, init?: RequestInit & { token?: string | null }): Promise<Response>;
}

export class Client {
  readonly #line: Line;
  readonly #token: { readonly token: string | null } | Record<string, never>;

  /** The admin's token unless told otherwise; `null` sends none. */
  constructor(line: Line, token?: string | null) {
    this.#line = line;
    this.#token = token === undefined ? {} : { token };
  }

  get(path: string, headers: Fields = {}): Promise<Answer> {
    return this.#ask("GET", path, headers);
  }

  post(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    return this.#ask("POST", path, headers, body);
  }

  put(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    return this.#ask("PUT", path, headers, body);
  }

  /** A merge patch, unless the header fields say otherwise. */
  patch(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    const type = { "content-type": "application/merge-patch+json" };
    return this.#ask("PATCH", path, { ...type, ...headers }, body);
  }

  jsonPatch(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    const type = { "content-type": "application/json-patch+json" };
    return this.#ask("PATCH", path, { ...type, ...headers }, body);
  }

  remove(path: string, headers: Fields = {}): Promise<Answer> {
    return this.#ask("DELETE", path, headers);
  }

  batch(operations: readonly unknown[], headers: Fields = {}): Promise<Answer> {
    return this.post("/-/batch", { operations }, headers);
  }

  /** PUTs and expects that it worked; the tag, which a PUT does not tell, is that of a GET. */
  async keep(path: string, body: Body): Promise<string> {
    const { status, body: words } = await this.put(path, body);
    assert.ok(status === 200 || status === 201, words);
    return this.tag(path);
  }

  async tag(path: string): Promise<string> {
    return (await this.get(path)).headers.get("etag") ?? "";
  }

  async json<T>(path: string): Promise<T> {
    const { status, body } = await this.get(path);
    assert.equal(status, 200, body);
    return JSON.parse(body);
  }

  /** All of a collection. Its tag moves with every write, so two that are equal have none between them. */
  async state(collection: string): Promise<unknown> {
    const { status, headers, body } = await this.get(`/${collection}?limit=1000`);
    return { status, etag: headers.get("etag"), body: status === 200 ? body : "" };
  }

  /** The answer must be this problem, and the collection as it was before. */
  async refuses(
    collection: string,
    kind: ProblemKind,
    ask: () => Promise<Answer>,
  ): Promise<ReturnType<typeof assertProblem>> {
    const before = await this.state(collection);
    const problem = assertProblem(await ask(), kind);
    assert.deepEqual(await this.state(collection), before);
    return problem;
  }

  #ask(method: string, path: string, headers: Fields, body?: Body): Promise<Answer> {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const type = body === undefined ? {} : { "content-type": "application/json" };
    return answerOf(
      this.#line.request(path, {
        method,
        headers: { ...type, ...headers },
        ...(sent === undefined ? {} : { body: sent }),
        ...this.#token,
      }),
    );
  }
}

export const pointersOf = ({ errors }: ReturnType<typeof assertProblem>): readonly string[] =>
  (errors ?? []).map(({ pointer, parameter }) => pointer ?? parameter ?? "");

/** Runs as many at once as there are, and waits for all. */
export const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));
