// The JSON Schemas of the home document and of health checks.

import type { FromSchema } from "../../lib/schema/from-schema.ts";

export const homeSchema = {
  type: "object",
  required: ["name", "version", "description", "links"],
  properties: {
    name: { type: "string" },
    version: { type: "string" },
    description: { type: "string" },
    links: { type: "object", additionalProperties: { type: "string", format: "uri-reference" } },
  },
  additionalProperties: false,
} as const;

export const healthSchema = {
  type: "object",
  required: ["status"],
  properties: {
    status: { type: "string", enum: ["ok", "ready"] },
    files: { type: "string", enum: ["unavailable"] },
  },
  additionalProperties: false,
} as const;

export type Home = FromSchema<typeof homeSchema>;
export type Health = FromSchema<typeof healthSchema>;
