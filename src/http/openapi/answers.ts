// Builds the bodies and responses of operations.

import type { Answer, Content } from "../request/route.ts";
import { validators } from "./headers.ts";
import { conditions } from "./parameters.ts";

type Headers = Answer["headers"];

export const jsonContent = (schema: object): Content => ({ "application/json": { schema } });

export const response = (description: string, content: Content, headers: Headers = {}): Answer => ({
  description,
  headers,
  content,
});

export const json = (description: string, schema: object, headers?: Headers): Answer =>
  response(description, jsonContent(schema), headers);

export const noContent = (description: string, headers: Headers = {}): Answer => ({
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
  answers: { 200: response("The page.", { [type]: { schema } }, headers), 304: notModified },
});
