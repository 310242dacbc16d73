// Moves the db.json of json-server to Restante: node from-json-server.js db.json http://localhost:8080

import { readFile } from "node:fs/promises";
import { argumentsOf, collectionName, fieldName, move } from "./restante.js";

/** Where resources that are alone in db.json go, such as `profile`: to /settings/profile. */
const singles = "settings";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns lists of `{ name, from, resources }`. The first record without an id has the id 1. */
function collectionsOf(content) {
  const collections = new Map();
  const add = (from, name, resources) => {
    const there = collections.get(name);
    const all = [...(there?.resources ?? []), ...resources];
    collections.set(name, { name, from: there ? `${there.from}, ${from}` : from, resources: all });
  };
  for (const [key, value] of Object.entries(content)) {
    if (Array.isArray(value)) add(key, collectionName(key), value.map(resourceOf));
    else if (isObject(value)) add(key, singles, [{ ...resourceOf(value, 0), id: key }]);
    else if (key !== "$schema") console.error(`${key} is no list and no object, and is left out`);
  }
  return [...collections.values()];
}

function resourceOf(record, index) {
  const { id = index + 1, ...fields } = record;
  const named = Object.entries(fields).map(([name, value]) => [fieldName(name), value]);
  return { id: `${id}`, ...Object.fromEntries(named) };
}

/** `postId` refers to `posts`, `categoryId` to `categories`. */
function referredTo(field, collections) {
  const [, noun] = /^(.+)Id$/.exec(field) ?? [];
  if (noun === undefined) return undefined;
  const one = collectionName(noun);
  const names = [one, `${one}s`, `${one}es`, one.replace(/y$/, "ies")];
  return collections.find(({ name }) => names.includes(name));
}

/** Makes texts of the ids in `…Id` fields, and references of those that lead to a resource. */
function refer(collection, collections) {
  const references = {};
  const fields = new Set(collection.resources.flatMap((resource) => Object.keys(resource)));
  for (const field of fields) {
    const target = referredTo(field, collections);
    if (target === undefined) continue;
    for (const resource of collection.resources)
      if (typeof resource[field] === "number") resource[field] = `${resource[field]}`;
    const ids = new Set(target.resources.map(({ id }) => id));
    const lost = collection.resources.filter(
      (resource) => resource[field] != null && !ids.has(resource[field]),
    );
    if (lost.length === 0) references[field] = { collection: target.name };
    else
      console.error(`${field} of ${collection.from} is no reference: ${lost[0].id} leads nowhere`);
  }
  return references;
}

const isTime = (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value);

function typeOf(value) {
  if (value === null || Array.isArray(value)) return value === null ? "null" : "array";
  if (Number.isInteger(value)) return "integer";
  return typeof value;
}

/** The types that all values of a field have. A field of several types is not declared. */
function schemaOf(resources) {
  const properties = {};
  const names = new Set(resources.flatMap(({ id: _, ...fields }) => Object.keys(fields)));
  for (const name of names) {
    const values = resources
      .map((resource) => resource[name])
      .filter((value) => value !== undefined);
    const types = new Set(values.map(typeOf));
    if (types.has("number")) types.delete("integer");
    const isNullable = types.delete("null");
    const [type] = types;
    if (type === undefined) properties[name] = {};
    else if (types.size > 1) properties[name] = {};
    else {
      properties[name] = { type: isNullable ? [type, "null"] : type };
      if (type === "string" && values.every((value) => value === null || isTime(value)))
        properties[name].format = "date-time";
    }
  }
  return { type: "object", properties };
}

const { source, restante } = argumentsOf("node from-json-server.js db.json http://localhost:8080");
const collections = collectionsOf(JSON.parse(await readFile(source, "utf8")));
for (const collection of collections) {
  const references = refer(collection, collections);
  collection.definition = { schema: schemaOf(collection.resources), references };
}
if (!(await move(restante, collections))) process.exitCode = 1;
