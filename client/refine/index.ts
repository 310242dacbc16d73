// A data provider for Refine: lists, references, files, many at once, and conflicts that overwrite nothing.

import type { AnyResource, Client, CollectionTypes, ListQuery, Page } from "../index.ts";
import type { Members } from "../object.ts";
import { type Options, optionsOf } from "../records/options.ts";
import { type AdminRecord, type RecordOptions, Records } from "../records/records.ts";
import { type Filter, readFilters } from "./filter.ts";

export { RecordError } from "../records/error.ts";
export type { FileMember, FileUrl } from "../records/files.ts";
export type { AdminRecord, RecordOptions } from "../records/records.ts";

type Key = string | number;

interface Of {
  readonly resource: string;
  readonly meta?: Members;
}

interface OfOne extends Of {
  readonly id: Key;
}

interface OfMany extends Of {
  readonly ids: readonly Key[];
}

interface ListParams extends Of {
  readonly pagination?: {
    readonly currentPage?: number;
    readonly pageSize?: number;
    readonly mode?: "client" | "server" | "off";
  };
  readonly sorters?: readonly { readonly field: string; readonly order: "asc" | "desc" }[];
  readonly filters?: readonly Filter[];
}

interface CustomParams {
  readonly url: string;
  readonly method: string;
  readonly payload?: unknown;
  readonly query?: unknown;
  readonly headers?: object;
  readonly meta?: Members;
}

/** What Refine calls `DataProvider`. */
export interface RefineProvider {
  getList<T>(params: ListParams): Promise<{ data: T[]; total: number }>;
  getOne<T>(params: OfOne): Promise<{ data: T }>;
  getMany<T>(params: OfMany): Promise<{ data: T[] }>;
  create<T, V>(params: Of & { readonly variables: V }): Promise<{ data: T }>;
  createMany<T, V>(params: Of & { readonly variables: readonly V[] }): Promise<{ data: T[] }>;
  update<T, V>(params: OfOne & { readonly variables: V }): Promise<{ data: T }>;
  updateMany<T, V>(params: OfMany & { readonly variables: V }): Promise<{ data: T[] }>;
  deleteOne<T>(params: OfOne): Promise<{ data: T }>;
  deleteMany<T>(params: OfMany): Promise<{ data: T[] }>;
  getApiUrl(): string;
  custom<T>(params: CustomParams): Promise<{ data: T }>;
}

type WithVariables = { readonly variables: Members };

export function dataProvider<C extends { readonly [K in keyof C]: CollectionTypes }>(
  client: Client<C>,
  options: RecordOptions = {},
): RefineProvider {
  const records = new Records(client as unknown as Client, options);
  const provider = {
    getApiUrl: () => records.base,
    getList: async (params: ListParams) => {
      const { mode, currentPage = 1, pageSize = 10 } = params.pagination ?? {};
      const query = listQuery(params);
      if (mode !== undefined && mode !== "server")
        return wholeList(await records.all(params.resource, query));
      const page = await records.list(params.resource, {
        ...query,
        page: currentPage,
        limit: pageSize,
      });
      return { data: [...page.data], total: totalOf(page) };
    },
    getOne: async ({ resource, id, meta }: OfOne) => ({
      data: await records.get(resource, `${id}`, readMeta(meta)),
    }),
    getMany: async ({ resource, ids, meta }: OfMany) => ({
      data: await records.many(resource, ids.map(String), readMeta(meta)),
    }),
    create: async ({ resource, variables, meta }: Of & WithVariables) => ({
      data: await records.create(resource, variables, readMeta(meta)),
    }),
    createMany: async ({ resource, variables, meta }: Of & { variables: readonly Members[] }) => ({
      data: await records.createMany(resource, variables, readMeta(meta)),
    }),
    update: async ({ resource, id, variables, meta }: OfOne & WithVariables) => ({
      data: await records.update(resource, `${id}`, variables, undefined, readMeta(meta)),
    }),
    updateMany: async ({ resource, ids, variables, meta }: OfMany & WithVariables) => ({
      data: await records.updateMany(resource, ids.map(String), variables, readMeta(meta)),
    }),
    deleteOne: async ({ resource, id, meta }: OfOne) => {
      await records.remove(resource, `${id}`, undefined, readMeta(meta));
      return { data: { id } };
    },
    deleteMany: async ({ resource, ids, meta }: OfMany) => {
      await records.removeMany(resource, ids.map(String), readMeta(meta));
      return { data: ids.map((id) => ({ id })) };
    },
    custom: async (params: CustomParams) => ({ data: await records.send(customRequest(params)) }),
  };
  return provider as unknown as RefineProvider;
}

/** Refine cancels by `queryContext`. */
function readMeta(meta: Members = {}): Options {
  const { signal } = (meta.queryContext ?? {}) as { readonly signal?: AbortSignal };
  return optionsOf(meta, signal);
}

function listQuery({ sorters = [], filters, meta }: ListParams): ListQuery<AnyResource> {
  const sort = sorters.map(({ field, order }) => `${order === "desc" ? "-" : ""}${field}`);
  return {
    ...readMeta(meta),
    ...readFilters(filters, meta?.where as ListQuery<AnyResource>["where"]),
    ...(sort.length > 0 && { sort }),
  };
}

const wholeList = (data: readonly AdminRecord[]) => ({ data, total: data.length });

/** Where the server does not count, at least so many. */
function totalOf({ total, totalAtLeast, data, page, limit, more = false }: Page<AdminRecord>) {
  const seen = (page - 1) * limit + data.length + (more ? 1 : 0);
  return total ?? Math.max(totalAtLeast ?? 0, seen);
}

function customRequest({ url, method, payload, query, headers, meta }: CustomParams) {
  const search = `${new URLSearchParams((query ?? {}) as Record<string, string>)}`;
  return {
    ...readMeta(meta),
    ...{ method: method.toUpperCase(), url: search === "" ? url : `${url}?${search}` },
    ...(payload !== undefined && { body: payload }),
    headers: { ...headers },
  };
}
