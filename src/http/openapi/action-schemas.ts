// Defines the JSON Schemas of actions in the OpenAPI document.

import { actionLimits, actionName } from "../../model/action.ts";
import { schema } from "./schemas.ts";

/** The schemas that every document has. */
export const actionSchemas: Readonly<Record<string, object>> = {
  Actions: {
    type: "object",
    required: ["data"],
    properties: { data: { type: "array", items: schema("Action") } },
    additionalProperties: false,
  },
  Action: {
    type: "object",
    required: ["name", "description", "url", "scope", "timeoutMs", "input"],
    properties: {
      name: { type: "string", pattern: actionName.source },
      description: { type: "string" },
      url: { type: "string", format: "uri-reference" },
      scope: { type: "string" },
      timeoutMs: { type: "integer", minimum: 1, maximum: actionLimits.maxTimeoutMs },
      input: { type: "object", description: "A JSON Schema." },
      output: { type: "object", description: "A JSON Schema, if there is one." },
    },
    additionalProperties: false,
  },
  Accepted: {
    type: "object",
    required: ["location"],
    properties: { location: { type: "string", format: "uri-reference" } },
    additionalProperties: false,
    examples: [{ location: "/outbox/019a8448-5a3c-7c31-9d41-6f2f3f0c9a11" }],
  },
};
