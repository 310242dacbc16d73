// Describes each visible collection in the OpenAPI document: its paths and schemas.

import { own } from "../../lib/own-property.ts";
import { exampleOf } from "../../lib/schema/example.ts";
import { isObjectSchema, type Schema } from "../../lib/schema/subschemas.ts";
import { componentPath } from "../../lib/schema/variant.ts";
import type { Definition } from "../../model/definition.ts";
import type { CollectionSchemas } from "../../model/schema-components.ts";
import type { Verb } from "../../model/token.ts";
import { validatorOf } from "../../model/validator.ts";
import { parameter, parameters } from "./components.ts";
import { listParameters } from "./filters.ts";
import { patchOf } from "./patches.ts";
import { create, get, list, patch, put, type ResourceOperations, remove } from "./resources.ts";
import { at, id, pageShape, schema } from "./schemas.ts";

/** A collection with the verbs that the caller may use. */
export interface VisibleCollection extends CollectionSchemas {
  readonly definition: Definition;
  /** The stored text of the definition. */
  readonly text: string;
  readonly verbs: readonly Verb[];
}

export function pathsOf(collection: VisibleCollection, maxBodyBytes: number) {
  const { name, verbs } = collection;
  const operations = operationsOf(collection, maxBodyBytes);
  const may = (verb: Verb, item: object) => (verbs.includes(verb) ? item : {});
  const mayPut = verbs.includes("create") || verbs.includes("update");
  return {
    [`/${name}`]: {
      ...may("read", { get: list(operations) }),
      ...may("create", { post: create(operations) }),
    },
    [`/${name}/{id}`]: {
      parameters: [parameter("id")],
      ...may("read", { get: get(operations) }),
      ...(mayPut ? { put: put(operations) } : {}),
      ...may("update", { patch: patch(operations) }),
      ...may("delete", { delete: remove(operations) }),
    },
  };
}

function operationsOf(
  { name, typeName, definition, text }: VisibleCollection,
  maxBodyBytes: number,
): ResourceOperations {
  const { access, idempotencyKey, maxBytes = maxBodyBytes } = definition;
  const isKeyed = idempotencyKey === "required";
  return {
    tag: name,
    operationIds: {
      list: `list${typeName}`,
      create: `create${typeName}`,
      get: `get${typeName}`,
      put: `replace${typeName}`,
      patch: `update${typeName}`,
      remove: `delete${typeName}`,
    },
    place: name,
    schemas: {
      resource: typeName,
      draft: `${typeName}Draft`,
      replacement: `${typeName}Draft`,
      patch: `${typeName}Patch`,
    },
    aboutList:
      "In the order of creation, unless `sort` or `q` say otherwise, and with an exact total; past the end it is empty. Responses in other formats (`fields`, `since`, `Prefer`) are described with `/{collection}`.",
    listed: schema(`${typeName}Page`),
    listParameters: listParameters(definition, text),
    idempotencyKey: isKeyed
      ? { ...parameters.idempotencyKey, required: true }
      : parameter("idempotencyKey"),
    isGeneric: false,
    maxBodyBytes: Math.min(maxBytes, maxBodyBytes),
    security: (...verbs) => [
      ...(verbs.some((verb) => access[verb] === "public") ? [{}] : []),
      ...verbs.map((verb) => ({ bearer: [`${name}:${verb}`] })),
    ],
  };
}

export const tagOf = ({ name, definition }: VisibleCollection) => ({
  name,
  description: descriptionOf(definition) ?? `The resources of /${name}.`,
});

function descriptionOf({ description, schema }: Definition): string | undefined {
  const words = description ?? schema?.description ?? schema?.title;
  return typeof words === "string" && words.trim() !== "" ? words : undefined;
}

export function schemasOf(collection: VisibleCollection): Readonly<Record<string, object>> {
  const { typeName, schemas } = collection;
  const { [typeName]: resource = {}, [`${typeName}Draft`]: draft = {}, ...parts } = schemas;
  const examples = examplesOf(collection);
  return {
    [typeName]: { ...resource, ...examples.resource },
    [`${typeName}Draft`]: { ...draft, ...examples.draft },
    [`${typeName}Patch`]: patchOf(draft),
    [`${typeName}Page`]: pageShape(typeName),
    ...parts,
  };
}

const references = new RegExp(`"${componentPath}([^"]+)"`, "g");

/** Returns the schemas that something refers to, directly or through others. */
export function usedBy(something: object, schemas: Readonly<Record<string, object>>) {
  const used: Record<string, object> = {};
  const follow = (from: object) => {
    for (const [, name = ""] of JSON.stringify(from).matchAll(references)) {
      const found = own(schemas, name);
      if (found === undefined || Object.hasOwn(used, name)) continue;
      used[name] = found;
      follow(found);
    }
  };
  follow(something);
  return used;
}

/** Returns the example of the schema or a generated one; none when it is not valid. */
function examplesOf({ typeName, schemas, definition }: VisibleCollection) {
  const find = (reference: string): Schema | undefined =>
    own(schemas, reference.slice(componentPath.length));
  const given = definition.schema?.examples;
  const [first] = Array.isArray(given) ? given : [];
  const draft = first ?? exampleOf(schemas[`${typeName}Draft`] ?? false, find);
  if (!isObjectSchema(draft)) return {};
  const shape = validatorOf(definition);
  const accepted = shape.accept(JSON.stringify(draft), undefined, false);
  if (typeof accepted !== "string") return {};
  const resource = { id, ...JSON.parse(shape.visible(accepted)), createdAt: at, updatedAt: at };
  return { draft: { examples: [draft] }, resource: { examples: [resource] } };
}
