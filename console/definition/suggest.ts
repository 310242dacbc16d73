// Suggests a JSON Schema from resources that are there.

import { isObject, type Json, type JsonObject } from "../api/json.ts";
import type { Schema } from "../api/types.ts";

/** The server sets these. */
const reserved = new Set(["id", "createdAt", "updatedAt", "_etag", "_owner", "_expanded"]);

const date = /^\d{4}-\d\d-\d\d$/;
const time = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const email = /^[\w+-]+(\.[\w+-]+)*@[a-z\d]+(-[a-z\d]+)*(\.[a-z\d]+(-[a-z\d]+)*)+$/i;
const webAddress =
  /^https?:\/\/[\w.-]+(:\d{1,5})?(\/[\w.~:/@!$&'()*+,;=-]*)?(\?[\w.~:/?@!$&'()*+,;=-]*)?(#[\w.~:/?@!$&'()*+,;=-]*)?$/;

/** A date that the calendar has. */
const isDate = (text: string): boolean =>
  date.test(text) && new Date(`${text}T00:00:00Z`).getUTCDate() === Number(text.slice(8));

/** Narrower than the formats are, so that a suggestion never rejects what it was made from. */
const formats: readonly (readonly [string, (text: string) => boolean])[] = [
  [
    "date-time",
    (text) => text[10] === "T" && isDate(text.slice(0, 10)) && time.test(text.slice(11)),
  ],
  ["date", isDate],
  ["email", (text) => text.length <= 254 && email.test(text)],
  ["uri", (text) => webAddress.test(text) && URL.canParse(text)],
];

/** The schema that all of them match. Members that all of them have are required. */
export const suggestSchema = (resources: readonly JsonObject[]): Schema =>
  objectSchema(
    resources.map((resource) =>
      Object.fromEntries(Object.entries(resource).filter(([name]) => !reserved.has(name))),
    ),
  );

function objectSchema(objects: readonly JsonObject[]): Schema {
  const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  const required = names.filter((name) => objects.every((object) => Object.hasOwn(object, name)));
  const properties = Object.fromEntries(
    names.map((name) => [name, valueSchema(objects.flatMap((object) => ownValues(object, name)))]),
  );
  return { type: "object", ...(required.length > 0 && { required }), properties };
}

const ownValues = (object: JsonObject, name: string): readonly Json[] =>
  Object.hasOwn(object, name) ? [object[name] as Json] : [];

function valueSchema(values: readonly Json[]): Schema {
  const types = [...new Set(values.map(typeOf))];
  const merged = types.includes("number") ? types.filter((type) => type !== "integer") : types;
  const [only] = merged;
  const type = merged.length === 1 && only !== undefined ? only : merged.toSorted();
  return {
    ...(merged.length > 0 && { type }),
    ...(merged.includes("string") && formatOf(values.filter((value) => typeof value === "string"))),
    ...(merged.includes("array") &&
      itemsOf(values.flatMap((value) => (Array.isArray(value) ? [value] : [])))),
    ...(merged.includes("object") && membersOf(values.filter(isObject))),
  };
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

/** A format counts when all texts have it. */
function formatOf(texts: readonly string[]): Schema {
  const found = formats.find(([, isOfFormat]) => texts.every(isOfFormat));
  return found === undefined ? {} : { format: found[0] };
}

function itemsOf(lists: readonly (readonly Json[])[]): Schema {
  const items = lists.flat();
  return items.length === 0 ? {} : { items: valueSchema(items) };
}

function membersOf(objects: readonly JsonObject[]): Schema {
  const { required, properties } = objectSchema(objects);
  return { ...(required && { required }), ...(properties && { properties }) };
}
