// Defines a route: its method, path, permission and handler, and its request and responses.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Problem } from "../../model/problem.ts";
import type { RequestContext } from "./context.ts";
import type { Permission } from "./permission.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "QUERY";

export type Handler = (context: RequestContext) => MaybePromise<Reply | Problem>;

/** A JSON Schema, or another object of the OpenAPI document. */
type Described = Readonly<object>;

/** The schemas of a body by media type. */
export type BodyContent = Readonly<Record<string, { readonly schema: Described }>>;

export interface RouteResponse {
  readonly description: string;
  /** The header fields by name, besides those of every response. */
  readonly headers?: Readonly<Record<string, Described>>;
  readonly content?: BodyContent;
}

/** The request and the responses of a route. The OpenAPI document is made from this. */
export interface RouteOperation {
  readonly summary: string;
  readonly description?: string;
  /** The schemas of the parameters in the path. */
  readonly path?: Readonly<Record<string, Described>>;
  /** The parameters in the query string and in the header. */
  readonly parameters?: readonly Described[];
  readonly body?: BodyContent;
  readonly isBodyOptional?: true;
  /** The successful responses by status; a second one of the same status is `2XX`. */
  readonly responses: Readonly<Record<number, RouteResponse>> & {
    readonly "2XX"?: RouteResponse;
  };
  /** The statuses of problems, besides those that the permission, method and body imply. */
  readonly problems?: readonly number[];
}

export interface Route {
  readonly method: Method;
  /** With parameters in braces, as in OpenAPI. */
  readonly path: string;
  readonly permission: Permission;
  readonly handler: Handler;
  readonly operation: RouteOperation;
}

/** Routes by the id of their operation. */
export type Routes = Readonly<Record<string, Route>>;

/** The names of the parameters in a path. */
type PathNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** Every parameter in the path has a schema. */
type OperationAt<Path> = [PathNames<Path>] extends [never]
  ? RouteOperation & { readonly path?: never }
  : RouteOperation & { readonly path: Readonly<Record<PathNames<Path>, Described>> };

/** Makes a route of a target such as `GET /-/tokens/{id}`. */
export function route<M extends Method, Path extends `/${string}`>(
  target: `${M} ${Path}`,
  permission: Permission,
  handler: Handler,
  operation: OperationAt<Path>,
): Route {
  const space = target.indexOf(" ");
  const method = target.slice(0, space) as M;
  return { method, path: target.slice(space + 1), permission, handler, operation };
}
