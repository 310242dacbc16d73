// Moves the collections, records and files of PocketBase to Restante:
// node from-pocketbase.js http://localhost:8090 http://localhost:8080

import { argumentsOf, collectionName, fieldName, move } from "./restante.js";

const { source, restante } = argumentsOf(
  "node from-pocketbase.js http://localhost:8090 http://localhost:8080\n" +
    "The variables POCKETBASE_EMAIL and POCKETBASE_PASSWORD are those of a superuser.",
);
const origin = source.replace(/\/$/, "");

async function ask(path, options = {}) {
  const answer = await fetch(origin + path, options);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

async function signIn() {
  const { POCKETBASE_EMAIL: identity, POCKETBASE_PASSWORD: password } = process.env;
  const answer = await ask("/api/collections/_superusers/auth-with-password", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ identity, password }),
  });
  return { authorization: (await answer.json()).token };
}

const headers = await signIn();

/** All items of a list of PocketBase. */
async function all(path) {
  const items = [];
  for (let page = 1; ; page++) {
    const answer = await ask(`${path}?page=${page}&perPage=200&sort=id`, { headers });
    const found = (await answer.json()).items;
    items.push(...found);
    if (found.length < 200) return items;
  }
}

const isList = ({ maxSelect = 1 }) => maxSelect > 1;

const listOr = (field, schema) => (isList(field) ? { type: "array", items: schema } : schema);

/** What a field of each type holds. Zero limits are none. */
const schemas = {
  text: ({ min, max, pattern }) => ({
    type: "string",
    ...(min > 0 && { minLength: min }),
    ...(max > 0 && { maxLength: max }),
    ...(pattern && { pattern }),
  }),
  editor: () => ({ type: "string" }),
  number: ({ min, max, onlyInt }) => ({
    type: onlyInt ? "integer" : "number",
    ...(min != null && { minimum: min }),
    ...(max != null && { maximum: max }),
  }),
  bool: () => ({ type: "boolean" }),
  email: () => ({ type: "string", format: "email" }),
  url: () => ({ type: "string", format: "uri" }),
  date: () => ({ type: "string", format: "date-time" }),
  autodate: () => ({ type: "string", format: "date-time" }),
  select: (field) => listOr(field, { type: "string", enum: field.values }),
  json: () => ({}),
  relation: (field) => listOr(field, { type: "string" }),
  geoPoint: () => ({
    type: "object",
    properties: { lon: { type: "number" }, lat: { type: "number" } },
  }),
  file: (field) =>
    listOr(field, {
      type: "object",
      format: "file",
      ...(field.mimeTypes?.length > 0 && { properties: { type: { enum: field.mimeTypes } } }),
    }),
};

/** Fields that records show. Passwords are hidden and stay where they are. */
const fieldsOf = ({ fields }) =>
  fields.filter(
    ({ name, type, hidden }) => name !== "id" && !hidden && schemas[type] !== undefined,
  );

/** The columns of the indexes of a collection; of unique ones, or of the others. */
function indexesOf(collection, isUnique) {
  const isSimple = (field) => !["json", "file", "geoPoint"].includes(field.type) && !isList(field);
  const names = fieldsOf(collection)
    .filter(isSimple)
    .map(({ name }) => name);
  return collection.indexes
    .map((sql) => /^CREATE (UNIQUE )?INDEX.*? ON \S+ \(([^()]*)\)/is.exec(sql.trim()))
    .filter((found) => found !== null && (found[1] !== undefined) === isUnique)
    .map(([, , columns]) => columns.split(",").map((column) => column.replace(/[`"\s]/g, "")))
    .filter((columns) => columns.length <= 4 && columns.every((column) => names.includes(column)))
    .map((columns) => columns.map(fieldName))
    .map((columns) => (columns.length === 1 ? columns[0] : columns));
}

function referencesOf(collection, collections) {
  const references = {};
  for (const field of fieldsOf(collection).filter(({ type }) => type === "relation")) {
    const target = collections.find(({ id }) => id === field.collectionId);
    if (target === undefined) continue;
    const otherwise = field.required ? "restrict" : "unset";
    references[fieldName(field.name) + (isList(field) ? "[]" : "")] = {
      collection: collectionName(target.name),
      onDelete: field.cascadeDelete ? "cascade" : otherwise,
    };
  }
  return references;
}

function definitionOf(collection, collections) {
  const fields = fieldsOf(collection);
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      fields.map((field) => [fieldName(field.name), schemas[field.type](field)]),
    ),
    // PocketBase refuses 0 and false in a required field. JSON Schema only asks whether it is there.
    required: fields.filter(({ required }) => required).map(({ name }) => fieldName(name)),
  };
  const references = referencesOf(collection, collections);
  const [unique, indexed] = [indexesOf(collection, true), indexesOf(collection, false)];
  return { schema, references, unique, indexed };
}

/** A time with `T`. A field without a value is left out. */
function memberOf(value, { type }) {
  if (value === "" || value === null || (Array.isArray(value) && value.length === 0))
    return undefined;
  return type === "date" || type === "autodate" ? value.replace(" ", "T") : value;
}

function resourceOf(record, fields) {
  const members = fields
    .filter(({ type }) => type !== "file")
    .map((field) => [fieldName(field.name), memberOf(record[field.name], field)]);
  return { id: record.id, ...Object.fromEntries(members) };
}

/** The files of a record. They are read one by one when it is their turn. */
function filesOf(record, fields, name) {
  return fields
    .filter(({ type }) => type === "file")
    .flatMap((field) => {
      const names = [record[field.name] ?? []].flat().filter((file) => file !== "");
      return names.map((file, index) => ({
        path: `/${name}/${record.id}/${fieldName(field.name)}${isList(field) ? `.${index + 1}` : ""}`,
        read: () => readFile(record, file),
      }));
    });
}

async function readFile({ collectionId, id }, name) {
  const answer = await ask("/api/files/token", { method: "POST", headers });
  const { token } = await answer.json();
  const path = `/api/files/${collectionId}/${id}/${encodeURIComponent(name)}?token=${token}`;
  const file = await ask(path);
  const type = file.headers.get("content-type") ?? "application/octet-stream";
  return { type, name, bytes: await file.arrayBuffer() };
}

const verbs = ["list", "view", "create", "update", "delete"];

/** Rules are not translated: they are shown, so that you write them anew. */
function showRules(collection) {
  const rules = verbs.map((verb) => [verb, collection[`${verb}Rule`]]);
  const words = (rule) => (rule === null ? "superusers only" : rule === "" ? "everyone" : rule);
  for (const [verb, rule] of rules) console.log(`  ${verb}: ${words(rule)}`);
}

const found = (await all("/api/collections")).filter(({ system }) => !system);
const tables = found.filter(({ type }) => type !== "view");
for (const { name } of found.filter(({ type }) => type === "view"))
  console.log(`${name} is a view, and is left out`);

const collections = [];
for (const table of tables) {
  const fields = fieldsOf(table);
  const name = collectionName(table.name);
  const records = await all(`/api/collections/${table.name}/records`);
  collections.push({
    name,
    from: table.name,
    definition: definitionOf(table, tables),
    resources: records.map((record) => resourceOf(record, fields)),
    files: records.flatMap((record) => filesOf(record, fields, name)),
  });
}
const isComplete = await move(restante, collections);
for (const table of tables) {
  console.log(`Rules of ${table.name}, for you to translate:`);
  showRules(table);
}
if (!isComplete) process.exitCode = 1;
