// The interface through which an action reads and writes resources: the HTTP methods with JSON values.

/** Every method throws a ProblemError where HTTP would answer with a problem. */
export interface ActionResources {
  /** Like POST. */
  create(collection: string, fields: object, options?: CreateOptions): Promise<WriteAnswer>;
  get(collection: string, id: string): Promise<ResourceAnswer>;
  /** Like QUERY. */
  list(collection: string, query?: ListQuery): Promise<ResourceList>;
  put(
    collection: string,
    id: string,
    fields: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer>;
  /** Applies a JSON Merge Patch, or a JSON Patch when it is an array. */
  patch(
    collection: string,
    id: string,
    patch: object,
    precondition?: Precondition,
  ): Promise<WriteAnswer>;
  /** Like DELETE. */
  remove(collection: string, id: string, precondition?: Precondition): Promise<void>;
  /** Like POST to /-/batch: all operations succeed, or none is done. */
  batch(
    operations: readonly BatchOperation[],
    options?: CreateOptions,
  ): Promise<readonly BatchResult[]>;
}

/** The response to a read. */
export interface ResourceAnswer {
  readonly status: 200;
  readonly location: string;
  readonly etag: string;
  readonly body: Representation;
}

/**
 * The response to a write. There is no body when the caller may not read the resource, and no ETag when
 * rules hide it.
 */
export interface WriteAnswer {
  readonly status: 200 | 201 | 204;
  readonly location: string;
  readonly etag?: string;
  readonly body?: Representation;
}

export interface Representation {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly [field: string]: unknown;
}

/** ETags as in the header fields. One without a value is a TypeError, not a write without a condition. */
export interface Precondition {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

export interface CreateOptions {
  /** A request with the same key, content and token is not repeated. */
  readonly idempotencyKey?: string;
}

/** The body of a QUERY. */
export interface ListQuery {
  readonly where?: Readonly<Record<string, unknown>>;
  readonly q?: string;
  readonly sort?: string | readonly string[];
  readonly fields?: string | readonly string[];
  readonly expand?: string | readonly string[];
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
  /** `/{collection}` for a POST, otherwise `/{collection}/{id}`. */
  readonly path: string;
  readonly body?: object;
  /** The format of a PATCH. Default: a merge patch. */
  readonly contentType?:
    | "application/merge-patch+json"
    | "application/json-patch+json"
    | "application/vnd.restante.operations+json";
}

export interface BatchResult {
  readonly status: 200 | 201 | 204;
  readonly location?: string;
  readonly etag?: string;
  readonly body?: Representation;
}
