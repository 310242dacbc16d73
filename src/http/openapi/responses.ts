// Builds the responses of operations in the OpenAPI document.

import type { BodyContent, RouteResponse } from "../request/route.ts";
import { validators } from "./headers.ts";
import { conditions } from "./parameters.ts";

type Headers = RouteResponse["headers"];

export const jsonContent = (schema: object): BodyContent => ({ "application/json": { schema } });

export const response = (
  description: string,
  content: BodyContent,
  headers: Headers = {},
): RouteResponse => ({
  description,
  headers,
  content,
});

export const json = (description: string, schema: object, headers?: Headers): RouteResponse =>
  response(description, jsonContent(schema), headers);

export const noContent = (description: string, headers: Headers = {}): RouteResponse => ({
  description,
  headers,
});

export const notModified = noContent("The client has the current state.", validators);

/** A page that does not change while the program runs. */
export const page = (
  type: string,
  schema: object = { type: "string" },
  headers: Headers = validators,
) => ({
  parameters: conditions,
  responses: { 200: response("The page.", { [type]: { schema } }, headers), 304: notModified },
});
