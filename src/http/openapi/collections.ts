// Describes each visible collection in the OpenAPI document: its paths and schemas.

import type { UsableCollection } from "../../domain/contract.ts";
import { own } from "../../lib/own-property.ts";
import { exampleOf } from "../../lib/schema/example.ts";
import { MergePatchSchemas } from "../../lib/schema/merge-patch.ts";
import { isObjectSchema, type ObjectSchema, type Schema } from "../../lib/schema/subschemas.ts";
import { componentPath } from "../../lib/schema/variant.ts";
import { hidesFields } from "../../model/access/grant.ts";
import { type CollectionSchemas, collectionComponents } from "../../model/collection-components.ts";
import { type Definition, definitionOf } from "../../model/definition.ts";
import { exampleId, exampleTime } from "../../model/schemas/examples.ts";
import { mergePatchSchema } from "../../model/schemas/patch.ts";
import { pageOf } from "../../model/schemas/resource.ts";
import type { Verb } from "../../model/token.ts";
import { validatorOf } from "../../model/validator.ts";
import type { RouteOperation, Routes } from "../request/route.ts";
import { filterWords, listParameters, uniqueParameters } from "./filters.ts";
import { type FormFile, formOf } from "./forms.ts";
import { type DescribedRoute, verbsOf } from "./operations.ts";
import { parameters } from "./parameters.ts";
import {
  type CollectionShapes,
  create,
  get,
  list,
  patch,
  put,
  remove,
  upsert,
} from "./resources.ts";

/** A collection with the verbs that the caller may use. */
export interface VisibleCollection extends CollectionSchemas {
  readonly definition: Definition;
  /** The stored text of the definition. */
  readonly text: string;
  readonly verbs: readonly Verb[];
  /** The schemas by their names in the document. */
  readonly components: Readonly<Record<string, object>>;
}

/** Describes the collections that have verbs. `taken` are the type names that they must not have. */
export function visibleCollections(
  collections: readonly UsableCollection[],
  taken: Iterable<string>,
): readonly VisibleCollection[] {
  const byName = new Map(collections.map((each) => [each.collection.name, each]));
  const defined = collections.map(({ collection }) => ({
    name: collection.name,
    schema: definitionOf(collection).schema,
    singular: definitionOf(collection).singular,
    hidesFields: hidesFields(definitionOf(collection)),
  }));
  return collectionComponents(defined, taken).flatMap((described) => {
    const { collection, verbs = [] } = byName.get(described.name) ?? {};
    if (collection === undefined || verbs.length === 0) return [];
    const definition = definitionOf(collection);
    const visible = { ...described, definition, text: collection.definition, verbs };
    return [{ ...visible, components: componentsOf(visible) }];
  });
}

/** The operations that each collection has for itself, with the verbs of their ids. */
const ownOperations = {
  listResources: ["list", list],
  createResource: ["create", create],
  upsertResource: ["upsert", upsert],
  getResource: ["get", get],
  putResource: ["replace", put],
  patchResource: ["update", patch],
  deleteResource: ["delete", remove],
} as const;

/** Describes the routes of one collection that the caller may use. */
export function routesOfCollection(
  routes: Routes,
  collection: VisibleCollection,
  maxBodyBytes: number,
): readonly DescribedRoute[] {
  const { name, typeName, pluralName, definition, verbs } = collection;
  const { maxBytes = maxBodyBytes } = definition;
  const shapes = shapesOf(collection);
  return Object.entries(ownOperations).flatMap(([id, [verb, describe]]) => {
    const route = routes[id];
    const needed = route === undefined ? [] : verbsOf(route.permission);
    if (route === undefined || !needed.some((one) => verbs.includes(one))) return [];
    if (verb === "upsert" && shapes.uniqueParameters.length === 0) return [];
    const { collection: _, ...path } = route.operation.path ?? {};
    const operation: RouteOperation = describe(shapes);
    const { 201: created, ...others } = operation.responses;
    const { content: __, ...silent } = created ?? { description: "" };
    // Who may not read gets no body.
    const responses =
      created === undefined || verbs.includes("read")
        ? operation.responses
        : { ...others, 201: silent };
    const described = {
      ...route,
      id: verb === "list" ? `list${pluralName}` : `${verb}${typeName}`,
      tag: name,
      path: route.path.replace("{collection}", name),
      security: securityOf(name, needed, definition),
      maxBodyBytes: Math.min(maxBytes, maxBodyBytes),
      operation: { ...operation, responses, path },
    };
    return [described];
  });
}

const securityOf = (name: string, verbs: readonly Verb[], { access }: Definition) => [
  ...(verbs.some((verb) => access[verb] === "public") ? [{}] : []),
  ...verbs.map((verb) => ({ bearer: [access[verb] === "admin" ? "admin" : `${name}:${verb}`] })),
];

function shapesOf({
  name,
  typeName,
  definition,
  text,
  components,
}: VisibleCollection): CollectionShapes {
  const { [typeName]: resource = {}, [`${typeName}Draft`]: draft = {} } = components;
  const isKeyed = definition.idempotencyKey === "required";
  return {
    label: name,
    resource,
    draft,
    form: components[`${typeName}Form`] ?? draft,
    replacement: draft,
    patch: components[`${typeName}Patch`] ?? {},
    page: components[`${typeName}Page`] ?? {},
    listDescription: `In the order of creation, unless \`sort\` or \`q\` say otherwise, and with an exact total; past the end it is empty. \`/{collection}\` describes \`fields\`, \`expand\`, \`aggregate\` and \`since\`, which change the response. ${filterWords}`,
    listParameters: listParameters(definition, text),
    idempotencyKey: isKeyed
      ? { ...parameters.idempotencyKey, required: true }
      : parameters.idempotencyKey,
    uniqueParameters: uniqueParameters(definition),
    isGeneric: false,
  };
}

/** The references are those to collections that the caller may read. */
export function tagOf(
  { name, definition }: VisibleCollection,
  all: readonly VisibleCollection[],
): object {
  const references = Object.entries(definition.references ?? {})
    .map(([path, { collection }]) => ({ path, collection }))
    .filter(({ collection }) => all.some((one) => one.name === collection && mayRead(one)));
  return {
    name,
    description: descriptionOf(definition) ?? `The resources of /${name}.`,
    ...(references.length > 0 && { "x-references": references }),
  };
}

const mayRead = ({ verbs }: VisibleCollection): boolean => verbs.includes("read");

function descriptionOf({ description, schema }: Definition): string | undefined {
  const words = description ?? schema?.description ?? schema?.title;
  return typeof words === "string" && words.trim() !== "" ? words : undefined;
}

/** Returns the schemas of a collection by their names in the document. */
function componentsOf(
  collection: Omit<VisibleCollection, "components">,
): Readonly<Record<string, object>> {
  const { typeName, schemas } = collection;
  const { [typeName]: read = {}, [`${typeName}Draft`]: sent = {}, ...parts } = schemas;
  const examples = examplesOf(collection);
  const resource = { ...read, ...examples.resource };
  const patches = new MergePatchSchemas(schemas);
  const patch = withOwner(patches.patchOf(sent));
  const form = formOf(sent, schemas, filesOf(collection.definition, read));
  return {
    [typeName]: resource,
    [`${typeName}Draft`]: { ...sent, ...examples.draft },
    ...(form && { [`${typeName}Form`]: form }),
    [`${typeName}Patch`]: patch,
    [`${typeName}Page`]: pageOf(resource),
    ...parts,
    ...patches.components,
  };
}

/** The members that are marked as files, and whether each is a list and required. */
function filesOf(definition: Definition, read: ObjectSchema): readonly FormFile[] {
  const { properties = {}, required = [] } = read;
  return validatorOf(definition).fileMembers.map((name) => {
    const member = own(properties as Readonly<Record<string, Schema>>, name);
    const isList = isObjectSchema(member) && (member.type === "array" || "items" in member);
    return { name, isList, isRequired: (required as readonly string[]).includes(name) };
  });
}

/** An admin can set the owner with a patch. */
const withOwner = ({ properties = {}, ...patch }: ObjectSchema): ObjectSchema => ({
  ...patch,
  description: mergePatchSchema.description,
  properties: { ...(properties as object), ...mergePatchSchema.properties },
});

/** Returns the example of the schema or a generated one; none when it is not valid. */
function examplesOf({ typeName, schemas, definition }: Omit<VisibleCollection, "components">) {
  const find = (reference: string): Schema | undefined =>
    own(schemas, reference.slice(componentPath.length));
  const given = definition.schema?.examples;
  const [first] = Array.isArray(given) ? given : [];
  const shape = validatorOf(definition);
  const isFile = ([name]: readonly [string, unknown]) => shape.fileMembers.includes(name);
  const guess = first ?? exampleOf(schemas[`${typeName}Draft`] ?? false, find);
  if (!isObjectSchema(guess)) return {};
  // A file is in the resource and not in what is sent.
  const read = shape.fileMembers.length > 0 ? exampleOf(schemas[typeName] ?? false, find) : {};
  const files = Object.entries(isObjectSchema(read) ? read : {}).filter(isFile);
  const draft = Object.fromEntries(Object.entries(guess).filter((member) => !isFile(member)));
  const whole = { ...Object.fromEntries(files), ...guess };
  const accepted = shape.accept(JSON.stringify(whole), undefined, false);
  if (typeof accepted !== "string") return {};
  const resource = {
    id: exampleId,
    ...JSON.parse(shape.visible(accepted)),
    createdAt: exampleTime,
    updatedAt: exampleTime,
  };
  return { draft: { examples: [draft] }, resource: { examples: [resource] } };
}
