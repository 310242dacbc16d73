// A client for Restante: typed collections, retries that write nothing twice, and conflicts with both versions.

import { type Operation, type Results, runBatch } from "./batch.ts";
import { Collection } from "./collection.ts";
import { segmentOf } from "./path.ts";
import { type ApiRequest, type ClientOptions, type RequestOptions, Sender } from "./send.ts";
import type { AnyCollections, CollectionTypes } from "./types.ts";

export type { Operation, Results } from "./batch.ts";
export type { Change, ChangePage, ChangesQuery } from "./changes.ts";
export { Collection, type Group, type Page, type ReadOptions, type Target } from "./collection.ts";
export { CollectionFile, type UploadOptions } from "./file.ts";
export { Conflict, NoAnswer, Problem, type ProblemDetail } from "./problem.ts";
export type { AggregateQuery, ListQuery, Selection } from "./query.ts";
export type { ApiRequest, ClientOptions, RequestOptions } from "./send.ts";
export { etagOf, withEtag } from "./tags.ts";
export type * from "./types.ts";

export class Client<C extends { readonly [K in keyof C]: CollectionTypes } = AnyCollections> {
  readonly #sender: Sender;
  readonly #options: ClientOptions;

  constructor(base: string, options: ClientOptions = {}) {
    this.#sender = new Sender(base, options);
    this.#options = options;
  }

  /** The same client with other options, such as `{ retries: 0 }`. */
  with(options: ClientOptions): Client<C> {
    return new Client(this.#sender.base, { ...this.#options, ...options });
  }

  collection<N extends keyof C & string>(name: N): Collection<C[N]> {
    return new Collection(this.#sender, name);
  }

  /** Operations of `collection.in`, which happen together or not at all. */
  batch<const O extends readonly Operation<unknown>[]>(
    operations: O,
    options?: RequestOptions,
  ): Promise<Results<O>> {
    return runBatch(this.#sender, operations, options);
  }

  /** Runs an action of the server. It is not sent again when the answer is lost. */
  async action<Output = unknown>(
    name: string,
    input: unknown = {},
    options: RequestOptions = {},
  ): Promise<Output> {
    const headers = { "Idempotency-Key": undefined, ...options.headers };
    const path = `/-/actions/${segmentOf(name)}`;
    const request = { method: "POST", path, body: input, ...options, headers };
    return this.#sender.read(request, async (response) =>
      response.status === 204 ? undefined : await response.json(),
    ) as Promise<Output>;
  }

  /** Any request, with the token, retries and problems of the client. */
  send(request: ApiRequest): Promise<Response> {
    return this.#sender.send(request);
  }
}
