// What an action can do with resources: the verbs of HTTP, with values instead of bytes.

/** Each throws a ProblemError where HTTP would answer with a problem. */
export interface ActionResources {
  /** As POST. */
  create(collection: string, fields: object, options?: CreateOptions): Promise<WriteAnswer>;
  get(collection: string, id: string): Promise<ResourceAnswer>;
  /** As QUERY. */
  list(collection: string, query?: ListQuery): Promise<ResourceList>;
  put(
    collection: string,
    id: string,
    fields: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer>;
  /** A merge patch; a JSON Patch when it is an array. */
  patch(
    collection: string,
    id: string,
    patch: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer>;
  /** As DELETE. */
  remove(collection: string, id: string, precondition?: Precondition): Promise<void>;
  /** As POST to /-/batch: all of them happen, or none. */
  batch(
    operations: readonly BatchOperation[],
    options?: CreateOptions,
  ): Promise<readonly BatchResult[]>;
}

/** What HTTP would have answered. */
export interface ResourceAnswer {
  readonly status: 200;
  readonly location: string;
  readonly etag: string;
  readonly body: Representation;
}

/** The same of a write. A caller who may not read what it writes gets no body. */
export interface WriteAnswer {
  readonly status: 200 | 201 | 204;
  readonly location: string;
  readonly etag: string;
  readonly body?: Representation;
}

export interface Representation {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly [field: string]: unknown;
}

/** ETags, as in the header fields. */
export interface Precondition {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

export interface CreateOptions {
  /** What has come with the same key, content and token before is not done again. */
  readonly idempotencyKey?: string;
}

/** The body of a QUERY. */
export interface ListQuery {
  readonly where?: Readonly<Record<string, unknown>>;
  readonly q?: string;
  readonly sort?: string | readonly string[];
  readonly fields?: string | readonly string[];
  readonly page?: number;
  readonly limit?: number;
  readonly cursor?: string;
  readonly total?: "exact" | "none";
}

export interface ResourceList {
  readonly data: readonly Representation[];
  readonly limit: number;
  readonly page?: number;
  readonly total?: number;
  readonly pages?: number;
  readonly more?: boolean;
  readonly next?: string | null;
}

export interface BatchOperation extends Precondition {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** `/{collection}` for a POST, else `/{collection}/{id}`. */
  readonly path: string;
  readonly body?: object;
  /** Of a PATCH: a merge patch unless said otherwise. */
  readonly contentType?: "application/merge-patch+json" | "application/json-patch+json";
}

export interface BatchResult {
  readonly status: 200 | 201 | 204;
  readonly location?: string;
  readonly etag?: string;
  readonly body?: Representation;
}
