// A data provider for react-admin: lists, references, files, many at once, and conflicts that overwrite nothing.

import type { AnyResource, Client, CollectionTypes, ListQuery, Page } from "../index.ts";
import type { Members } from "../object.ts";
import type { AnyCondition } from "../records/filter.ts";
import { optionsOf } from "../records/options.ts";
import { type AdminRecord, type RecordOptions, Records } from "../records/records.ts";
import { readFilter } from "./filter.ts";

export { RecordError } from "../records/error.ts";
export type { FileMember, FileUrl } from "../records/files.ts";
export type { AdminRecord, RecordOptions } from "../records/records.ts";

type Identifier = string | number;

interface RaRecord {
  readonly id: Identifier;
}

/** `meta` can have `Options`. */
interface WithMeta {
  readonly meta?: Members;
  readonly signal?: AbortSignal;
}

interface ListRequest extends WithMeta {
  readonly pagination?: { readonly page: number; readonly perPage: number };
  readonly sort?: { readonly field: string; readonly order: "ASC" | "DESC" };
  readonly filter?: object;
}

interface ListResult<R> {
  data: R[];
  total?: number;
  pageInfo?: { hasNextPage: boolean; hasPreviousPage: boolean };
}

interface ReferenceParams extends ListRequest {
  readonly target: string;
  readonly id: Identifier;
}

interface OneParams extends WithMeta {
  readonly id: Identifier;
  readonly previousData?: RaRecord | undefined;
}

interface ManyParams extends WithMeta {
  readonly ids: readonly Identifier[];
}

interface WithData {
  readonly data: object;
}

/** What react-admin calls `DataProvider`. */
export interface ReactAdminProvider {
  getList<R extends RaRecord>(resource: string, params: ListRequest): Promise<ListResult<R>>;
  getOne<R extends RaRecord>(resource: string, params: OneParams): Promise<{ data: R }>;
  getMany<R extends RaRecord>(resource: string, params: ManyParams): Promise<{ data: R[] }>;
  getManyReference<R extends RaRecord>(
    resource: string,
    params: ReferenceParams,
  ): Promise<ListResult<R>>;
  create<R>(resource: string, params: WithData & WithMeta): Promise<{ data: R }>;
  update<R extends RaRecord>(resource: string, params: WithData & OneParams): Promise<{ data: R }>;
  updateMany(resource: string, params: WithData & ManyParams): Promise<{ data: string[] }>;
  delete<R extends RaRecord>(resource: string, params: OneParams): Promise<{ data: R }>;
  deleteMany(resource: string, params: ManyParams): Promise<{ data: string[] }>;
  readonly supportAbortSignal: true;
}

export function dataProvider<C extends { readonly [K in keyof C]: CollectionTypes }>(
  client: Client<C>,
  options: RecordOptions = {},
): ReactAdminProvider {
  const records = new Records(client as unknown as Client, options);
  const list = async (name: string, params: ListRequest, ...conditions: AnyCondition[]) =>
    listResult(await records.list(name, listQuery(params, conditions)));
  const provider = {
    supportAbortSignal: true,
    getList: (name: string, params: ListRequest) => list(name, params),
    getManyReference: (name: string, { target, id, ...params }: ReferenceParams) =>
      list(name, params, { [target]: `${id}` }),
    getOne: async (name: string, { id, ...rest }: OneParams) => ({
      data: await records.get(name, `${id}`, optionsOf(rest.meta, rest.signal)),
    }),
    getMany: async (name: string, { ids, ...rest }: ManyParams) => ({
      data: await records.many(name, ids.map(String), optionsOf(rest.meta, rest.signal)),
    }),
    create: async (name: string, { data, ...rest }: WithData & WithMeta) => ({
      data: await records.create(name, data as Members, optionsOf(rest.meta, rest.signal)),
    }),
    update: async (name: string, params: WithData & OneParams) => {
      const { id, data, previousData, ...rest } = params;
      const before = previousData as Members | undefined;
      return {
        data: await records.update(
          name,
          `${id}`,
          data as Members,
          before,
          optionsOf(rest.meta, rest.signal),
        ),
      };
    },
    updateMany: async (name: string, { ids, data, ...rest }: WithData & ManyParams) => {
      await records.updateMany(
        name,
        ids.map(String),
        data as Members,
        optionsOf(rest.meta, rest.signal),
      );
      return { data: ids.map(String) };
    },
    delete: async (name: string, { id, previousData, ...rest }: OneParams) => {
      await records.remove(
        name,
        `${id}`,
        previousData as Members | undefined,
        optionsOf(rest.meta, rest.signal),
      );
      return { data: previousData ?? { id } };
    },
    deleteMany: async (name: string, { ids, ...rest }: ManyParams) => {
      await records.removeMany(name, ids.map(String), optionsOf(rest.meta, rest.signal));
      return { data: ids.map(String) };
    },
  };
  return provider as unknown as ReactAdminProvider;
}

function listQuery(params: ListRequest, conditions: AnyCondition[]): ListQuery<AnyResource> {
  const { pagination, sort, filter } = params;
  return {
    ...optionsOf(params.meta, params.signal),
    ...readFilter(filter as Members, ...conditions),
    ...(pagination && { page: pagination.page, limit: pagination.perPage }),
    ...(sort?.field && { sort: `${sort.order === "DESC" ? "-" : ""}${sort.field}` }),
  };
}

/** Where the server does not count, there are only a next and a previous page. */
function listResult(page: Page<AdminRecord>) {
  const { data, total, limit, more = data.length === limit } = page;
  const pageInfo = { hasNextPage: more, hasPreviousPage: page.page > 1 };
  return { data: [...data], ...(typeof total === "number" ? { total } : { pageInfo }) };
}
