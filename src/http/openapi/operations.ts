// Turns routes into the paths of the OpenAPI document.

import { actionScope, issueScope, type Verb } from "../../model/token.ts";
import type { Permission } from "../request/permission.ts";
import type { Route } from "../request/route.ts";
import { commonHeaders } from "./headers.ts";
import { otherProblem, problemStatuses } from "./problems.ts";

/** A route with what only the document needs. */
export interface DescribedRoute extends Route {
  readonly id: string;
  readonly tag: string;
  /** The security requirements, as alternatives. */
  readonly security: readonly object[];
  readonly maxBodyBytes: number;
}

/** Returns the verbs of a permission on a collection; one of them is enough. */
export function verbsOf(permission: Permission): readonly Verb[] {
  switch (permission) {
    case "anyone":
    case "optional-token":
    case "token":
    case "admin":
    case "metrics":
    case "issue":
    case "action":
      return [];
    case "put":
      return ["create", "update"];
    default:
      return [permission];
  }
}

/** Returns the security requirements of a route of any collection or action. */
export function securityOf(permission: Permission): readonly object[] {
  switch (permission) {
    case "anyone":
      return [];
    case "optional-token":
      return [{}, { bearer: [] }];
    case "token":
      return [{ bearer: [] }];
    case "admin":
      return [{ bearer: ["admin"] }];
    case "metrics":
      return [{ bearer: ["metrics"] }];
    case "issue":
      return [{ bearer: ["admin"] }, { bearer: [issueScope("{role}")] }];
    case "action":
      return [{ bearer: [actionScope("{name}")] }];
    default:
      return verbsOf(permission).map((verb) => ({ bearer: [`{collection}:${verb}`] }));
  }
}

/** Returns the paths of the document. `problems` are the responses by status. */
export function pathsOf(
  routes: readonly DescribedRoute[],
  problems: Readonly<Record<number, object>>,
): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const byPath = [...Map.groupBy(routes, ({ path }) => path)];
  return Object.fromEntries(
    byPath.map(([path, some]) => [
      path,
      {
        ...pathParameters(some),
        ...Object.fromEntries(
          some.map((each) => [each.method.toLowerCase(), operationOf(each, problems)]),
        ),
      },
    ]),
  );
}

function pathParameters([first]: readonly DescribedRoute[]) {
  const schemas = Object.entries(first?.operation.path ?? {});
  if (schemas.length === 0) return {};
  const inPath = { in: "path", required: true };
  return { parameters: schemas.map(([name, schema]) => ({ name, ...inPath, schema })) };
}

function operationOf(route: DescribedRoute, problems: Readonly<Record<number, object>>) {
  const { id, tag, security, operation } = route;
  const { summary, description, parameters = [], responses } = operation;
  const described = Object.entries(responses).map(([status, { headers, ...response }]) => [
    status,
    { ...response, headers: { ...commonHeaders, ...headers } },
  ]);
  const rejections = problemStatuses(route).map((status) => [status, problems[status]]);
  return {
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    security,
    ...(parameters.length > 0 && { parameters }),
    ...requestBodyOf(route),
    responses: {
      ...Object.fromEntries(described),
      ...Object.fromEntries(rejections),
      default: otherProblem,
    },
  };
}

function requestBodyOf({ operation, maxBodyBytes }: DescribedRoute) {
  const { body, isBodyOptional = false } = operation;
  if (body === undefined) return {};
  const required = !isBodyOptional;
  // Bytes and lines have other limits.
  if (!Object.hasOwn(body, "application/json")) return { requestBody: { required, content: body } };
  const whenEmpty = isBodyOptional ? " No body is an empty object." : "";
  const files = Object.hasOwn(body, "multipart/form-data") ? " without files" : "";
  const description = `In UTF-8, at most ${maxBodyBytes} bytes${files}.${whenEmpty}`;
  return { requestBody: { description, required, content: body } };
}
