// The JSON Schemas of problems (RFC 9457) and of the errors that they list.

import type { FromSchema } from "../../lib/schema/from-schema.ts";
import { problemKinds } from "../problem.ts";

export const problemKindSchema = { type: "string", enum: Object.keys(problemKinds) } as const;

export const errorDetailSchema = {
  type: "object",
  description: "One error, in the request body or in the query string.",
  required: ["detail"],
  properties: {
    pointer: { type: "string", description: "A JSON Pointer into the request body (RFC 6901)." },
    parameter: { type: "string", description: "The name of the query parameter." },
    detail: { type: "string" },
  },
  additionalProperties: false,
  examples: [{ pointer: "/scopes/0", detail: '"people" is not a scope' }],
} as const;

export const problemSchema = {
  type: "object",
  description: "RFC 9457.",
  required: ["type", "title", "status", "detail", "requestId"],
  properties: {
    type: { type: "string", format: "uri-reference", description: "A page about this kind." },
    title: { type: "string" },
    status: { type: "integer", minimum: 400, maximum: 599 },
    detail: { type: "string" },
    instance: {
      type: "string",
      format: "uri-reference",
      description: "The path of the request; absent when it could not be parsed.",
    },
    requestId: { type: "string", description: "As in X-Request-Id and in the log." },
    errors: { type: "array", description: "All errors at once.", items: errorDetailSchema },
    "expected-offset": { type: "integer", description: "How many bytes the upload has." },
    "provided-offset": { type: "integer", description: "The Upload-Offset of the request." },
  },
  additionalProperties: false,
} as const;

export type ProblemBody = FromSchema<typeof problemSchema>;
