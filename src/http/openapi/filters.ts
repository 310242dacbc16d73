// Describes the query parameters of a collection's list in the OpenAPI document.

import { type Fields, fieldsOf } from "../../lib/schema/fields.ts";
import { type ObjectSchema, SchemaReferences } from "../../lib/schema/subschemas.ts";
import { jsonTypesOf } from "../../lib/schema/types.ts";
import type { Definition } from "../../model/definition.ts";
import { ownerField } from "../../model/query/index-plan.ts";
import { listRequestLimits } from "../../model/query/list-request.ts";
import { type Operator, operators } from "../../model/query/operators.ts";
import { type QueryableFields, queryableFieldsOf } from "../../model/query/queryable.ts";
import { uniqueNamesIn } from "../../model/query/unique-field.ts";
import { findCredential } from "../request/request-target.ts";
import { reservedParameters } from "../resources/list-request.ts";
import { conditions, parameters } from "./parameters.ts";

/** Generated functions often take parameters by position, so that more would be unusable. */
const maxParameters = 45;

/** `fields`, `expand`, `aggregate` and `since` change the format of the response, so only the generic path describes them. */
export function listParameters({ schema = {} }: Definition, text: string): readonly object[] {
  const queryable = queryableFieldsOf(text);
  const { indexed, searchable } = queryable;
  const declared = fieldsOf(schema, new SchemaReferences(schema));
  const { page, limit, cursor, total, where, q } = parameters;
  const sort = sortBy(queryable, declared);
  const paging = [page, limit, sort, cursor, total, where, ...(searchable.length > 0 ? [q] : [])];
  const fields = [...indexed]
    .filter((field) => field !== ownerField && isAllowedInUrl(field))
    .map((field) => [field, scalarOf(declared.at(field.split("."))?.inner)] as const);
  const all = [...fields, ["createdAt", time] as const, ["updatedAt", time] as const];
  const filters = all.flatMap(([field, shape]) =>
    operatorsOf(shape).map((operator) => filterBy(field, operator, shape)),
  );
  // The plain ones first, so that those of every field are listed.
  const [plain = [], others = []] = [true, false].map((isPlain) =>
    filters.filter(({ operator }) => (operator === "eq") === isPlain),
  );
  const room = maxParameters - paging.length - conditions.length;
  return [...paging, ...[...plain, ...others].slice(0, room).map(({ parameter }) => parameter)];
}

/** The unique fields by which a PUT creates or replaces. One is required when it is the only one. */
export function uniqueParameters(definition: Definition): readonly object[] {
  const { schema = {} } = definition;
  const declared = fieldsOf(schema, new SchemaReferences(schema));
  const names = uniqueNamesIn(definition).filter(isAllowedInUrl);
  return names.map((name) => ({
    name,
    in: "query",
    description:
      names.length === 1 ? "The value of this resource." : "Exactly one of the unique fields.",
    ...(names.length === 1 && { required: true }),
    schema: uniqueSchemaOf(declared.at(name.split("."))?.inner),
  }));
}

/** The keywords of a field that its value in a URL has to match as well. */
const valueKeywords = ["pattern", "minLength", "maxLength", "minimum", "maximum", "enum", "format"];

function uniqueSchemaOf(fields: Fields | undefined): object {
  const given = (fields?.schemas ?? []).flatMap((schema) =>
    Object.entries(schema).filter(([keyword]) => valueKeywords.includes(keyword)),
  );
  return { ...scalarOf(fields), ...Object.fromEntries(given) };
}

/** Lists the fields when the schema allows no others. */
function sortBy(queryable: QueryableFields, declared: Fields): object {
  const isOpen = queryable.find(undeclaredName) !== undefined;
  if (isOpen) return parameters.sort;
  const names = ["id", ...pathsIn(declared), ...queryable.indexed, "createdAt", "updatedAt"].filter(
    (name) => queryable.find(name)?.holds === "value" && isPlainName(name),
  );
  const name = `-?(?:${[...new Set(names)].map(escaped).join("|")})`;
  const schema = {
    type: "string",
    pattern: `^${name}(?:,${name}){0,${listRequestLimits.maxSortings - 1}}$`,
  };
  return { ...parameters.sort, schema };
}

/** A name that no schema declares. */
const undeclaredName = "\u0000";

const isPlainName = (name: string): boolean => name !== ownerField && !/^[-+ ]|,/.test(name);
const escaped = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/** The paths of the fields, and of those one level below. */
const pathsIn = ({ members }: Fields): readonly string[] =>
  [...members].flatMap(([name, { inner }]) => [
    name,
    ...[...inner.members.keys()].map((below) => `${name}.${below}`),
  ]);

/** A parameter that looks like a credential is rejected in a URL. */
const isAllowedInUrl = (field: string): boolean => findCredential([[field, ""]]) === undefined;

const isReserved = (field: string): boolean =>
  (reservedParameters as readonly string[]).includes(field);

interface Scalar {
  readonly type: "string" | "integer" | "number" | "boolean";
  readonly format?: string;
}

const text: Scalar = { type: "string" };
const time: Scalar = { type: "string", format: "date-time" };

/** The one type of the field's values or of its items; text when there is not exactly one. */
function scalarOf(fields: Fields | undefined): Scalar {
  if (fields === undefined) return text;
  const [type, ...others] = [...(jsonTypesOf(fields) ?? [])].filter((name) => name !== "null");
  if (others.length > 0) return text;
  const has = (keyword: string, value: string) => allSchemas(fields).some(is(keyword, value));
  switch (type) {
    case "array":
      return scalarOf(fields.items);
    case "number":
      return has("type", "integer")
        ? { type: "integer", format: "int64" }
        : { type: "number", format: "double" };
    case "boolean":
      return { type };
    case "string":
      return has("format", "date")
        ? { type, format: "date" }
        : has("format", "date-time")
          ? time
          : text;
    default:
      return text;
  }
}

const is = (keyword: string, value: string) => (schema: ObjectSchema) =>
  [schema[keyword]].flat().includes(value);

/** The schemas of the value, those of alternatives included. */
const allSchemas = ({ schemas, alternatives }: Fields): readonly ObjectSchema[] => [
  ...schemas,
  ...alternatives.flat().flatMap((each) => each.schemas),
];

function operatorsOf({ type, format }: Scalar): readonly (keyof typeof meanings)[] {
  if (type === "boolean") return ["eq"];
  return type === "string" && format === undefined ? ["eq", "in"] : ["eq", "gte", "lt"];
}

const meanings = {
  eq: "Equal to this.",
  lt: "Less than this.",
  gte: "Greater than this, or equal.",
  in: "One of these, separated by commas.",
} as const satisfies Partial<Record<Operator, string>>;

function filterBy(field: string, operator: keyof typeof meanings, shape: Scalar) {
  const name = operator === "eq" && !isReserved(field) ? field : `${field}[${operator}]`;
  const schema = operator === "in" ? { ...text, minLength: 1 } : shape;
  return { operator, parameter: { name, in: "query", description: meanings[operator], schema } };
}

/** What the parameters do not show. */
export const filterWords = `Any field can be filtered, as \`field=value\` or \`field[operator]=value\`, with dots for nested fields and \`[]\` for any element of an array (\`lines[].sku\`); the operators are ${operators.join(", ")}. The method QUERY takes the same as a JSON body.`;
