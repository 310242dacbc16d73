// Defines the JSON Schemas of bodies in the OpenAPI document.

import { resourceId } from "../../model/id.ts";
import { pageLimits } from "../../model/query/page.ts";
import {
  issuedTokenSchema,
  tokenListSchema,
  tokenRequestSchema,
  tokenSchema,
} from "../../model/schemas/token.ts";

export const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export const id = "019a8448-5a3c-7c31-9d41-6f2f3f0c9a11";
export const at = "2026-11-15T09:30:00.000Z";
export const time = { type: "string", format: "date-time" };
export const text = { type: "string" };

/** Shown when `fields` names it. */
const tagMember = {
  type: "string",
  description:
    "The ETag, if `fields` names it. The name is reserved and ignored in request bodies.",
};

export const example = { id, name: "Ada", createdAt: at, updatedAt: at };

/** The schema of a page. With a cursor there are no page numbers, and a total may be left out. */
export const pageShape = (name: string) => ({
  type: "object",
  required: ["data", "limit"],
  properties: {
    data: { type: "array", items: schema(name), maxItems: pageLimits.maxLimit },
    page: { type: "integer", minimum: 1 },
    limit: { type: "integer", minimum: 1, maximum: pageLimits.maxLimit },
    total: { type: "integer", minimum: 0 },
    pages: { type: "integer", minimum: 0 },
    more: {
      type: "boolean",
      description: "Of a page without a total: whether there are more resources.",
    },
    next: {
      type: ["string", "null"],
      description: "With `cursor`: the cursor of the next page; null at the end.",
    },
  },
  additionalProperties: false,
});

export const schemas: Readonly<Record<string, object>> = {
  Draft: {
    type: "object",
    description:
      "Any JSON object without an `id`, which the server chooses; `createdAt`, `updatedAt` and the reserved names `_etag`, `_expanded` and `_owner` are ignored.",
    not: { properties: { id: true }, required: ["id"] },
    examples: [{ name: "Ada" }],
  },
  Replacement: {
    type: "object",
    description:
      "Any JSON object. An `id` must be the one in the URL; `createdAt`, `updatedAt` and the reserved names `_etag`, `_expanded` and `_owner` are ignored, so the response of a GET can be changed and sent back.",
    properties: { id: { type: "string", pattern: resourceId.source } },
    additionalProperties: true,
    examples: [{ name: "Ada Lovelace" }],
  },
  Resource: {
    type: "object",
    description: "`id`, the fields that were sent, `createdAt` and `updatedAt`.",
    required: ["id", "createdAt", "updatedAt"],
    properties: {
      id: { type: "string", pattern: resourceId.source },
      createdAt: time,
      updatedAt: time,
      _etag: tagMember,
    },
    additionalProperties: true,
    examples: [example],
  },
  Page: {
    ...pageShape("Selected"),
    examples: [{ data: [example], page: 1, limit: pageLimits.defaultLimit, total: 1, pages: 1 }],
  },
  Selected: {
    type: "object",
    description: "A resource, or with `fields` only some members of it.",
    required: ["id"],
    properties: {
      id: { type: "string", pattern: resourceId.source },
      createdAt: time,
      updatedAt: time,
      _etag: tagMember,
    },
    additionalProperties: true,
  },
  TokenRequest: tokenRequestSchema,
  Token: tokenSchema,
  IssuedToken: issuedTokenSchema,
  TokenList: tokenListSchema,
  Home: {
    type: "object",
    required: ["name", "version", "description", "links"],
    properties: {
      name: text,
      version: text,
      description: text,
      links: { type: "object", additionalProperties: { type: "string", format: "uri-reference" } },
    },
    additionalProperties: false,
  },
  State: {
    type: "object",
    required: ["status"],
    properties: { status: { type: "string", enum: ["ok", "ready"] } },
    additionalProperties: false,
  },
  Problem: {
    type: "object",
    description: "RFC 9457.",
    required: ["type", "title", "status", "detail", "requestId"],
    properties: {
      type: { type: "string", format: "uri-reference", description: "A page about this kind." },
      title: text,
      status: { type: "integer", minimum: 400, maximum: 599 },
      detail: text,
      instance: {
        type: "string",
        format: "uri-reference",
        description: "The path of the request; absent when it could not be parsed.",
      },
      requestId: { type: "string", description: "As in X-Request-Id and in the log." },
      errors: { type: "array", description: "All errors at once.", items: schema("Fault") },
    },
    additionalProperties: false,
  },
  Fault: {
    type: "object",
    required: ["detail"],
    properties: {
      pointer: { type: "string", description: "A JSON Pointer into the request body (RFC 6901)." },
      parameter: { type: "string", description: "The name of the query parameter." },
      detail: text,
    },
    additionalProperties: false,
    examples: [{ pointer: "/scopes/0", detail: "…" }],
  },
};
