// One collection: reads, writes, lists, figures, changes and files.

import type { Operation } from "./batch.ts";
import { type ChangePage, type ChangesQuery, follow, readChanges } from "./changes.ts";
import { CollectionFile } from "./file.ts";
import { segmentOf } from "./path.ts";
import { Conflict, Problem } from "./problem.ts";
import {
  type AggregateQuery,
  fieldsWithTag,
  type ListQuery,
  listRequest,
  pathWith,
  type Selection,
} from "./query.ts";
import type { RequestOptions, Sender } from "./send.ts";
import { isStateOf } from "./states.ts";
import { etagOf, remember } from "./tags.ts";
import type {
  AnyCollection,
  CollectionTypes,
  ExpandPath,
  FieldPath,
  Operations,
  Patch,
} from "./types.ts";

export interface Page<T> {
  readonly data: readonly T[];
  readonly page: number;
  readonly limit: number;
  /** Null when more than the server counts match; then `totalAtLeast` says how many at least. */
  readonly total: number | null;
  readonly pages: number | null;
  readonly totalAtLeast?: number;
  /** With `total: "none"`: whether there is another page. */
  readonly more?: boolean;
}

interface CursorPage<T> {
  readonly data: readonly T[];
  readonly next: string | null;
}

/** A resource that was read, whose ETag is sent; or an id, which changes whatever is there. */
export type Target<T> = T | string;

export interface ReadOptions<T> extends RequestOptions {
  readonly fields?: readonly FieldPath<T>[];
  readonly expand?: readonly ExpandPath<T>[];
}

export type Group = Readonly<Record<string, string | number | boolean | null>>;

const mergePatch = "application/merge-patch+json";
const operationsType = "application/vnd.restante.operations+json";
const withTags = "fields=*,_etag";

export class Collection<C extends CollectionTypes = AnyCollection> {
  readonly name: string;
  readonly #sender: Sender;

  constructor(sender: Sender, name: string) {
    this.#sender = sender;
    this.name = name;
  }

  get url(): string {
    return `${this.#sender.base}/${this.name}`;
  }

  /** Creates a resource. It is on disk when this returns; a repetition after a failure creates no second one. */
  async create(draft: C["draft"], options: RequestOptions = {}): Promise<C["resource"]> {
    const path = `/${this.name}?${withTags}`;
    return this.#sender.read(
      { method: "POST", path, body: draft, ...options },
      resourceOf<C["resource"]>,
    );
  }

  /** Throws a `Problem` of the kind `not-found` when there is none. */
  async get(id: string, options: ReadOptions<C["resource"]> = {}): Promise<C["resource"]> {
    const { fields, expand, ...rest } = options;
    const query = { fields: fieldsWithTag(fields, expand), expand };
    const path = pathWith(`${this.name}/${segmentOf(id)}`, query);
    return this.#sender.read({ method: "GET", path, ...rest }, async (response) =>
      remember(await response.json(), fields ? null : response.headers.get("etag")),
    );
  }

  /** Undefined when there is none. */
  find(id: string, options: ReadOptions<C["resource"]> = {}): Promise<C["resource"] | undefined> {
    return this.get(id, options).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 404) return undefined;
      throw error;
    });
  }

  /** Returns the same object when nothing has changed. */
  async refresh(resource: C["resource"], options: RequestOptions = {}): Promise<C["resource"]> {
    const headers = { ...options.headers, "If-None-Match": etagOf(resource) };
    const { signal } = options;
    const request = { method: "GET", path: this.#path(resource.id), signal, headers };
    return this.#sender.read(request, async (response) => {
      if (response.status === 304) return resource;
      return remember(await response.json(), response.headers.get("etag"));
    });
  }

  /** Changes the members of a merge patch. Throws a `Conflict` when someone else was faster. */
  update(
    target: Target<C["resource"]>,
    patch: Patch<C["draft"]>,
    options: RequestOptions = {},
  ): Promise<C["resource"]> {
    return this.#patch(target, patch, mergePatch, options);
  }

  /** Computes with the stored values: `operate(id, { increment: { stock: -1 } })`. It counts once, also when it is sent again. */
  operate(
    target: Target<C["resource"]>,
    operations: Operations<C["draft"]>,
    options: RequestOptions = {},
  ): Promise<C["resource"]> {
    return this.#patch(target, operations, operationsType, options);
  }

  /** Replaces a resource, or creates it when the target is an id that does not exist. */
  async replace(
    target: Target<C["resource"]>,
    draft: C["draft"],
    options: RequestOptions = {},
  ): Promise<C["resource"]> {
    try {
      return await this.#write("PUT", target, draft, options, resourceOf<C["resource"]>);
    } catch (error) {
      // The first answer was lost, and it was sent again.
      const current = error instanceof Conflict ? error.current : undefined;
      if (current && isStateOf(current, draft)) return current;
      throw error;
    }
  }

  /** Returns false when there was nothing to delete. */
  async remove(target: Target<C["resource"]>, options: RequestOptions = {}): Promise<boolean> {
    try {
      return await this.#write("DELETE", target, undefined, options, async () => true);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return false;
      throw error;
    }
  }

  async list(query: ListQuery<C["resource"]> = {}): Promise<Page<C["resource"]>> {
    return this.#list<Page<C["resource"]>>(query);
  }

  /** All that match, read in pages of a cursor: each once, whatever is written meanwhile. */
  async *all(
    query: Selection<C["resource"]> & { readonly pageSize?: number } = {},
  ): AsyncGenerator<C["resource"], void> {
    const { pageSize: limit = 200, ...rest } = query;
    let cursor: string | null = "";
    while (cursor !== null) {
      const next = { ...rest, limit, cursor, total: "none" } as const;
      const page: CursorPage<C["resource"]> = await this.#list(next);
      yield* page.data;
      cursor = page.next;
    }
  }

  /** How many match; null when more than the server counts. */
  async count(query: Pick<Selection<C["resource"]>, "where" | "q" | "signal"> = {}) {
    return (await this.#list<Page<object>>({ ...query, limit: 1 })).total;
  }

  /** Counts, sums, averages and so on, for all that match or for groups of them. */
  async aggregate(query: AggregateQuery<C["resource"]>): Promise<readonly Group[]> {
    const { signal, headers, ...rest } = query;
    const request = listRequest(this.name, rest, { signal, headers });
    type Answer = { readonly data: readonly Group[] };
    return this.#sender.read(request, async (response) => ((await response.json()) as Answer).data);
  }

  /** One page of what has changed since a position; `0` is the beginning. */
  changes(query: ChangesQuery<C["resource"]> = {}): Promise<ChangePage<C["resource"]>> {
    return readChanges(this.#sender, this.name, query);
  }

  /** All changes since a position, and then each new one, until the signal ends it. */
  follow(
    query: ChangesQuery<C["resource"]> & { readonly everyMs?: number } = {},
  ): AsyncGenerator<ChangePage<C["resource"]>, void> {
    return follow(this.#sender, this.name, query);
  }

  /** A file of a resource, by the name of its field, such as `photo`. */
  file(target: Target<C["resource"]>, field: string): CollectionFile {
    return new CollectionFile(this.#sender, `${this.#path(idOf(target))}/${segmentOf(field)}`);
  }

  /** Operations for `batch`, which happen together or not at all. */
  readonly in = {
    create: (draft: C["draft"]): Operation<C["resource"]> => ({
      ...{ method: "POST", path: `/${this.name}`, body: draft },
    }),
    update: (
      target: Target<C["resource"]>,
      patch: Patch<C["draft"]>,
    ): Operation<C["resource"]> => ({
      ...{ method: "PATCH", path: this.#path(idOf(target)), body: patch },
      ...conditionOf(target),
    }),
    operate: (
      target: Target<C["resource"]>,
      operations: Operations<C["draft"]>,
    ): Operation<C["resource"]> => ({
      ...{ method: "PATCH", path: this.#path(idOf(target)), body: operations },
      ...{ contentType: operationsType, ...conditionOf(target) },
    }),
    replace: (target: Target<C["resource"]>, draft: C["draft"]): Operation<C["resource"]> => ({
      ...{ method: "PUT", path: this.#path(idOf(target)), body: draft },
      ...conditionOf(target),
    }),
    remove: (target: Target<C["resource"]>): Operation<undefined> => ({
      ...{ method: "DELETE", path: this.#path(idOf(target)) },
      ...conditionOf(target),
    }),
  };

  #path(id: string): string {
    return `/${this.name}/${segmentOf(id)}`;
  }

  #list<P extends { readonly data: readonly object[] }>(
    query: ListQuery<C["resource"]> & { readonly cursor?: string },
  ): Promise<P> {
    const { signal, headers, ...rest } = query;
    const { fields } = rest as { fields?: readonly string[] };
    const request = listRequest(
      this.name,
      { ...rest, fields: [...(fields ?? ["*"]), "_etag"] },
      {
        ...{ signal, headers },
      },
    );
    return this.#sender.read(request, async (response) => {
      const page = (await response.json()) as P;
      return { ...page, data: page.data.map((one) => remember(one)) };
    });
  }

  #patch(
    target: Target<C["resource"]>,
    body: unknown,
    type: string,
    { signal, headers }: RequestOptions,
  ): Promise<C["resource"]> {
    const fields = { "Content-Type": type, ...headers };
    return this.#write(
      "PATCH",
      target,
      body,
      { signal, headers: fields },
      resourceOf<C["resource"]>,
    );
  }

  /** Sends If-Match for a resource that was read. */
  async #write<T>(
    method: string,
    target: Target<C["resource"]>,
    body: unknown,
    { signal, headers }: RequestOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const etag = typeof target === "string" ? undefined : etagOf(target);
    const path = `${this.#path(idOf(target))}${method === "DELETE" ? "" : `?${withTags}`}`;
    const fields = { ...(etag && { "If-Match": etag }), ...headers };
    try {
      return await this.#sender.read({ method, path, body, headers: fields, signal }, read);
    } catch (error) {
      const isConflict = error instanceof Problem && error.status === 412;
      if (!isConflict || typeof target === "string") throw error;
      throw new Conflict(error, target, await this.find(target.id, { signal }), body);
    }
  }
}

const resourceOf = async <T>(response: Response): Promise<T> => remember<T>(await response.json());

const idOf = (target: Target<{ readonly id: string }>): string =>
  typeof target === "string" ? target : target.id;

function conditionOf(target: Target<{ readonly id: string }>): { readonly ifMatch?: string } {
  const etag = typeof target === "string" ? undefined : etagOf(target);
  return etag === undefined ? {} : { ifMatch: etag };
}
