// Describes the filters of a collection as parameters of the OpenAPI document.

import { own } from "../../lib/own-property.ts";
import { isObjectSchema, type ObjectSchema } from "../../lib/schema/subschemas.ts";
import type { Definition } from "../../model/definition.ts";
import { ownerField } from "../../model/query/index-plan.ts";
import type { Operator } from "../../model/query/list-request.ts";
import { queryableFieldsOf } from "../../model/query/queryable.ts";
import type { ValueKind } from "../../model/query/sort-key.ts";
import { serverMembers } from "../../model/resource.ts";
import { findCredential } from "../request/request-target.ts";
import { reservedParameters } from "../resources/list-request.ts";
import { parameters } from "./parameters.ts";

/** `fields` and `since` change the response format, so only the generic path describes them. */
export function listParameters({ schema }: Definition, text: string): readonly object[] {
  const fields = queryableFieldsOf(text);
  const { page, limit, sort, cursor, total, q } = parameters;
  const paging = [page, limit, sort, cursor, total, ...(fields.isSearchable ? [q] : [])];
  if (schema === undefined) return [...paging, parameters.filters];
  const indexed = [...fields.indexed].filter((field) => field !== ownerField);
  const names = new Set(["id", ...declaredIn(schema, ""), ...indexed, "createdAt", "updatedAt"]);
  const filters = [...names].filter(isAllowedInUrl).flatMap((field) => {
    const found = fields.find(field);
    if (found === undefined || found.holds === "object") return [];
    const operators = fields.indexed.has(field)
      ? operatorsOf[found.kind]
      : (own(known, field) ?? []);
    return filtersFor(field, found.kind, ["eq", ...operators]);
  });
  return [...paging, ...filters];
}

/** A parameter that looks like a credential is rejected in a URL. */
const isAllowedInUrl = (field: string): boolean => findCredential([[field, ""]]) === undefined;

const isReserved = (field: string): boolean =>
  (reservedParameters as readonly string[]).includes(field);

function declaredIn(schema: ObjectSchema, prefix: string): readonly string[] {
  const { properties } = schema;
  if (!isObjectSchema(properties)) return [];
  return Object.entries(properties).flatMap(([name, inner]) => {
    if (name.includes(".") || serverMembers.includes(name)) return [];
    // A `$ref` is mostly an object, which has no value to filter by.
    if (isObjectSchema(inner) && Object.hasOwn(inner, "$ref")) return [];
    const below = isObjectSchema(inner) ? declaredIn(inner, `${prefix}${name}.`) : [];
    return [`${prefix}${name}`, ...below];
  });
}

const shapes: Readonly<Record<ValueKind, object>> = {
  text: { type: "string" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  time: { type: "string", format: "date-time" },
  any: { type: ["string", "number", "boolean"] },
};

const ordered = ["lt", "lte", "gt", "gte"] as const;
const operatorsOf: Readonly<Record<ValueKind, readonly Operator[]>> = {
  text: ["ne", "in", "like", "exists"],
  number: [...ordered, "ne", "in", "exists"],
  boolean: ["exists"],
  time: [...ordered, "exists"],
  any: [...ordered, "ne", "in", "like", "exists"],
};

const meanings: Readonly<Record<Operator, string>> = {
  eq: "Equal to this.",
  ne: "Not equal to this.",
  lt: "Less than this.",
  lte: "Less than this, or equal.",
  gt: "Greater than this.",
  gte: "Greater than this, or equal.",
  in: "One of these, separated by commas.",
  like: "Like this, where `*` stands for any characters.",
  exists: "Whether there is a value.",
};

/** The operators of the server's own fields. */
const known: Readonly<Record<string, readonly Operator[]>> = {
  id: ["in"],
  createdAt: ordered,
  updatedAt: ordered,
};

/** All operators work on all fields; listing them all would make the document unreadable. */
function filtersFor(
  field: string,
  kind: ValueKind,
  operators: readonly Operator[],
): readonly object[] {
  return operators.map((operator) => ({
    name: operator === "eq" && !isReserved(field) ? field : `${field}[${operator}]`,
    in: "query",
    description: meanings[operator],
    schema: operandOf(operator, kind),
  }));
}

function operandOf(operator: Operator, kind: ValueKind): object {
  if (operator === "exists") return shapes.boolean;
  return operator === "in" || operator === "like" ? shapes.text : shapes[kind];
}
