// An HTTP client with one token, for tests.

import assert from "node:assert/strict";
import type { ProblemKind } from "../../src/model/problem.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

type Fields = Readonly<Record<string, string>>;

/** A string is sent unchanged, anything else as JSON. */
type Body = unknown;

/** Sends the requests to an app in this process, or to a server process. */
export interface Requester {
  request(path: string, init?: RequestInit & { token?: string | null }): Promise<Response>;
}

export class Client {
  readonly #requester: Requester;
  readonly #token: { readonly token: string | null } | Record<string, never>;

  /** By default with the admin's token; `null` sends none. */
  constructor(requester: Requester, token?: string | null) {
    this.#requester = requester;
    this.#token = token === undefined ? {} : { token };
  }

  get(path: string, headers: Fields = {}): Promise<Answer> {
    return this.#send("GET", path, headers);
  }

  post(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    return this.#send("POST", path, headers, body);
  }

  put(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    return this.#send("PUT", path, headers, body);
  }

  /** A merge patch, unless the header fields say otherwise. */
  patch(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    const type = { "content-type": "application/merge-patch+json" };
    return this.#send("PATCH", path, { ...type, ...headers }, body);
  }

  jsonPatch(path: string, body: Body, headers: Fields = {}): Promise<Answer> {
    const type = { "content-type": "application/json-patch+json" };
    return this.#send("PATCH", path, { ...type, ...headers }, body);
  }

  remove(path: string, headers: Fields = {}): Promise<Answer> {
    return this.#send("DELETE", path, headers);
  }

  batch(operations: readonly unknown[], headers: Fields = {}): Promise<Answer> {
    return this.post("/-/batch", { operations }, headers);
  }

  /** PUTs, expects success, and returns the ETag of a GET, because a PUT returns none. */
  async putAndReadTag(path: string, body: Body): Promise<string> {
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

  /** Returns all of a collection. Its ETag changes with every write, so equal states have no write between them. */
  async state(collection: string): Promise<unknown> {
    const { status, headers, body } = await this.get(`/${collection}?limit=1000`);
    return { status, etag: headers.get("etag"), body: status === 200 ? body : "" };
  }

  /** Expects this problem, and that the collection does not change. */
  async rejects(
    collection: string,
    kind: ProblemKind,
    send: () => Promise<Answer>,
  ): Promise<ReturnType<typeof assertProblem>> {
    const before = await this.state(collection);
    const problem = assertProblem(await send(), kind);
    assert.deepEqual(await this.state(collection), before);
    return problem;
  }

  #send(method: string, path: string, headers: Fields, body?: Body): Promise<Answer> {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const type = body === undefined ? {} : { "content-type": "application/json" };
    return answerOf(
      this.#requester.request(path, {
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

/** Runs all at once and waits for all. */
export const concurrently = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));
