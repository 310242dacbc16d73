// Records for admin frameworks: resources that carry their ETag as data, because the frameworks copy them.

import {
  type AnyResource,
  type ApiRequest,
  type Client,
  type Collection,
  Conflict,
  etagOf,
  type ListQuery,
  type Operation,
  type Page,
  Problem,
  withEtag,
} from "../index.ts";
import type { Members } from "../object.ts";
import { RecordError } from "./error.ts";
import {
  baseOf,
  type FileMember,
  type FileUrl,
  formOf,
  keep,
  type Split,
  signedUrls,
  splitFiles,
  withoutSources,
  withSources,
} from "./files.ts";
import type { Options } from "./options.ts";
import { draftOf, patchOf } from "./patch.ts";

export interface RecordOptions {
  /** The address of a file; by default a signed URL, where the collection allows it. */
  readonly fileUrl?: FileUrl;
}

export interface AdminRecord extends Members {
  readonly id: string;
  readonly _etag?: string;
}

/** How many ids the server takes at once, in a condition and in a batch. */
const mostIds = 100;
const mostShown = 10_000;
const mostOpened = 200;

export class Records {
  readonly #client: Client;
  readonly #fileUrl: FileUrl;
  /** The ETags of what was shown last. */
  readonly #shown = new Map<string, string>();
  /** What forms began with: the last state that was read by itself, and each one by its ETag. */
  readonly #opened = new Map<string, AdminRecord>();

  constructor(client: Client, { fileUrl = signedUrls(client) }: RecordOptions) {
    this.#client = client;
    this.#fileUrl = fileUrl;
  }

  get base(): string {
    return baseOf(this.#client);
  }

  list(name: string, query: ListQuery<AnyResource>): Promise<Page<AdminRecord>> {
    return orRecordError(async () => {
      const page = await this.#collection(name).list(query);
      return { ...page, data: await this.#show(name, page.data) };
    });
  }

  get(name: string, id: string, options: Options): Promise<AdminRecord> {
    return orRecordError(async () => {
      const record = await this.#showOne(name, await this.#collection(name).get(id, options));
      const isWhole = options.fields === undefined;
      if (isWhole)
        for (const key of keysOf(name, record)) keep(this.#opened, key, record, mostOpened);
      return record;
    });
  }

  /** All that match. Ranked results have no cursor, so that words alone are in order of creation. */
  all(name: string, query: ListQuery<AnyResource>): Promise<readonly AdminRecord[]> {
    return orRecordError(async () => {
      const { total: _, ...rest } = query;
      const sort = rest.sort ?? "createdAt";
      const all = this.#collection(name).all({ ...rest, sort, pageSize: 1_000 });
      return this.#show(name, await Array.fromAsync(all));
    });
  }

  /** In the order of the ids, without those that are gone. */
  async many(
    name: string,
    ids: readonly string[],
    options: Options,
  ): Promise<readonly AdminRecord[]> {
    const parts = partsOf([...new Set(ids)]);
    const pages = await Promise.all(
      parts.map((some) =>
        this.list(name, { ...options, where: { id: { in: some } }, limit: mostIds, total: "none" }),
      ),
    );
    const found = new Map(pages.flatMap(({ data }) => data.map((one) => [one.id, one])));
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  create(name: string, form: Members, options: Options = {}): Promise<AdminRecord> {
    return orRecordError(async () => {
      const split = splitFiles(form);
      const body = await this.#bodyOf(name, { ...split, data: draftOf(split.data) });
      return this.#showOne(name, await this.#make(name, form.id, body, options));
    }, form);
  }

  /** An id of one's own must be new. */
  #make(name: string, id: unknown, body: Members, options: Options): Promise<AnyResource> {
    const collection = this.#collection(name);
    if (typeof id !== "string" || id === "") return collection.create(body, options);
    const headers = { ...options.headers, "If-None-Match": "*" };
    return collection.replace(id, body, { ...options, headers });
  }

  /** `previous` is what the form began with, if the framework tells it: only what differs from it is sent. */
  update(
    name: string,
    id: string,
    form: Members,
    previous: Members | undefined,
    { etag, ...options }: Options = {},
  ): Promise<AdminRecord> {
    const [opened, last] = keysOf(name, { ...form, id }).map((key) => this.#opened.get(key));
    const before = previous ?? (tagIn(form) === undefined ? last : opened);
    return orRecordError(
      async () => {
        const split = splitFiles(form);
        const data = patchOf(split.data, before && withoutSources(before));
        const body = await this.#bodyOf(name, { ...split, data });
        const target = this.#target(name, id, before, etag ?? tagIn(form));
        const type = body instanceof FormData ? { "Content-Type": undefined } : {};
        const headers = { ...options.headers, ...type };
        const written = await this.#collection(name).update(target, body, { ...options, headers });
        return this.#showOne(name, written);
      },
      form,
      (current) => this.#showOne(name, current),
    );
  }

  remove(
    name: string,
    id: string,
    before: Members | undefined,
    { etag, ...options }: Options = {},
  ): Promise<boolean> {
    const target = this.#target(name, id, before, etag);
    return orRecordError(() => this.#collection(name).remove(target, options));
  }

  createMany(
    name: string,
    forms: readonly Members[],
    options?: Options,
  ): Promise<readonly AdminRecord[]> {
    const { create } = this.#collection(name).in;
    const operations = forms.map((form) => create(draftOf(withoutFiles(form))));
    return this.#batch(name, operations, options);
  }

  /** All of them or none, in parts of 100. */
  updateMany(
    name: string,
    ids: readonly string[],
    form: Members,
    { etag, ...options }: Options = {},
  ): Promise<readonly AdminRecord[]> {
    const patch = patchOf(withoutFiles(form));
    const { update } = this.#collection(name).in;
    const targets = ids.map((id) => this.#target(name, id, undefined, etag));
    return this.#batch(
      name,
      targets.map((target) => update(target, patch)),
      options,
    );
  }

  /** As `updateMany`. */
  async removeMany(
    name: string,
    ids: readonly string[],
    { etag, ...options }: Options = {},
  ): Promise<void> {
    const { remove } = this.#collection(name).in;
    const targets = ids.map((id) => this.#target(name, id, undefined, etag));
    await this.#batch(
      name,
      targets.map((target) => remove(target)),
      options,
    );
  }

  /** A request to the server itself, so that nobody else gets the token. */
  send({ url, ...request }: Omit<ApiRequest, "path"> & { readonly url: string }): Promise<unknown> {
    const path = url.startsWith(`${this.base}/`) ? url.slice(this.base.length) : url;
    if (!path.startsWith("/") || path.startsWith("//"))
      throw new TypeError(`This sends requests to ${this.base} only.`);
    const headers = { ...(path.startsWith("/-/actions/") && noKey), ...request.headers };
    return orRecordError(async () => {
      const response = await this.#client.send({ ...request, headers, path });
      const text = await response.text();
      return text === "" ? {} : JSON.parse(text);
    });
  }

  #collection(name: string): Collection {
    return this.#client.collection(name);
  }

  async #batch(
    name: string,
    operations: readonly Operation<AnyResource | undefined>[],
    options?: Options,
  ): Promise<readonly AdminRecord[]> {
    const written: AdminRecord[] = [];
    for (const part of partsOf(operations))
      await orRecordError(async () => {
        const results = await this.#client.batch(part, options);
        written.push(
          ...(await this.#show(
            name,
            results.filter((one) => one !== undefined),
          )),
        );
      });
    return written;
  }

  /** A resource with the ETag that it was shown with, so that a change of another state is a conflict. */
  #target(name: string, id: string, before: Members | undefined, etag: string | undefined) {
    const known = etag ?? (before && tagIn(before)) ?? this.#shown.get(`${name}/${id}`);
    return withEtag({ ...before, id } as AnyResource, known);
  }

  #bodyOf(name: string, split: Split): Members | Promise<Members> {
    if (split.files.length === 0) return split.data;
    const read = ({ url }: FileMember) => {
      const [id = "", slot = ""] = url.split("/").slice(-2);
      return this.#collection(name).file(decodeURIComponent(id), slot).get();
    };
    return formOf(split, read) as Promise<object> as Promise<Members>;
  }

  #show(name: string, resources: readonly AnyResource[]): Promise<readonly AdminRecord[]> {
    return Promise.all(resources.map((one) => this.#showOne(name, one)));
  }

  async #showOne(name: string, resource: AnyResource): Promise<AdminRecord> {
    const etag = etagOf(resource);
    if (etag !== undefined) keep(this.#shown, `${name}/${resource.id}`, etag, mostShown);
    const record = { ...resource, ...(etag !== undefined && { _etag: etag }) };
    return withSources(record, this.#fileUrl);
  }
}

/** The state, and its resource. */
const keysOf = (name: string, { id, _etag }: Members): readonly string[] => [
  ...[`${name}/${id} ${_etag}`, `${name}/${id}`],
];

const tagIn = ({ _etag }: Members): string | undefined =>
  typeof _etag === "string" ? _etag : undefined;

function withoutFiles(form: Members): Members {
  const { data, files } = splitFiles(form);
  if (files.length === 0) return data;
  throw new TypeError("Files can be sent to one resource at a time only.");
}

/** An action rejects a key. */
const noKey = { "Idempotency-Key": undefined };

const partsOf = <T>(all: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / mostIds) }, (_, at) =>
    all.slice(at * mostIds, (at + 1) * mostIds),
  );

async function orRecordError<T>(
  act: () => Promise<T>,
  form?: Members,
  show?: (current: AnyResource) => Promise<AdminRecord>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const current = error instanceof Conflict ? (error.current as AnyResource) : undefined;
    throw new RecordError(error, form, current && (await show?.(current)));
  }
}
