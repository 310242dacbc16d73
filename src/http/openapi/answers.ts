// What operations take and answer, in OpenAPI's words.

import { header, parameter } from "./components.ts";
import { schema } from "./schemas.ts";

export const commonHeaders = {
  "X-Request-Id": header("XRequestId"),
  "Cache-Control": header("CacheControl"),
};
export const validators = {
  ...commonHeaders,
  ETag: header("ETag"),
  "Last-Modified": header("LastModified"),
};

export const conditions = [parameter("ifNoneMatch"), parameter("ifModifiedSince")];
export const notModified = {
  description: "The client has the current state.",
  headers: validators,
};

/** The statuses that a problem may have for anyone, for who needs a token, and for who sends a body. */
export const publicProblems = [400, 401, 406, 414, 421, 429, 500] as const;
export const readProblems = [...publicProblems, 403, 503] as const;
export const writeProblems = [...readProblems, 413, 415, 507] as const;

export function response(
  description: string,
  type: string,
  shape: object,
  headers: object = commonHeaders,
) {
  return { description, headers, content: { [type]: { schema: shape } } };
}

export const json = (description: string, name: string, headers?: object) =>
  response(description, "application/json", schema(name), headers);

export const jsonBody = (name: string, limitBytes: number) =>
  body({ "application/json": name }, limitBytes);

/** A body of one of these media types, each with the name of its schema. */
export const body = (types: Readonly<Record<string, string>>, limitBytes: number) => ({
  description: `In UTF-8, at most ${limitBytes} bytes.`,
  required: true,
  content: Object.fromEntries(
    Object.entries(types).map(([type, name]) => [type, { schema: schema(name) }]),
  ),
});
