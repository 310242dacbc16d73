// Reads collections from the OpenAPI document: what a token without the scope `admin` may know of them.

import { isObject } from "./json.ts";
import { resolveSchema, schemaAt } from "./schema.ts";
import type { Definition, Reference, Schema } from "./types.ts";

interface BodyContent {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface PathOperation {
  readonly parameters?: readonly { readonly name?: string; readonly $ref?: string }[];
  readonly requestBody?: BodyContent;
  readonly responses?: Readonly<Record<string, BodyContent>>;
}

type Path = Partial<Record<"get" | "post" | "put", PathOperation>>;

interface Tag {
  readonly name: string;
  readonly description?: string;
  readonly "x-references"?: readonly { readonly path: string; readonly collection: string }[];
}

export interface OpenApi {
  readonly tags?: readonly Tag[];
  readonly paths: Readonly<Record<string, Path>>;
  readonly components?: Schema;
}

interface Described {
  readonly name: string;
  readonly definition: Definition;
}

/** The collections that the caller may use, with as much of their definitions as the document tells. */
export function collectionsIn(document: OpenApi): readonly Described[] {
  const names = Object.keys(document.paths)
    .filter((path) => /^\/[a-z0-9][a-z0-9_-]*$/.test(path))
    .map((path) => path.slice(1));
  return names.map((name) => ({ name, definition: definitionIn(document, name) }));
}

function definitionIn(document: OpenApi, name: string): Definition {
  const tag = document.tags?.find((one) => one.name === name);
  const schema = schemaIn(document, name);
  const references = Object.fromEntries<Reference>(
    (tag?.["x-references"] ?? []).map(({ path, collection }) => [path, { collection }]),
  );
  const isDescribed = tag?.description !== undefined && !tag.description.endsWith(` /${name}.`);
  return {
    ...(isDescribed && { description: tag.description }),
    ...(schema !== undefined && { schema }),
    ...(isSearchable(document, name) && { searchable: ["*"] }),
    references,
  };
}

/** Only a list that can be searched has the parameter `q`. */
function isSearchable({ paths, components = {} }: OpenApi, name: string): boolean {
  const { parameters = [] } = paths[`/${name}`]?.get ?? {};
  return parameters.some((one) => {
    const { $ref } = one;
    return ($ref === undefined ? one : schemaAt({ components }, $ref)).name === "q";
  });
}

/** What the server adds to each resource. */
const added = new Set(["id", "createdAt", "updatedAt"]);

/** What can be sent and what can be read, together. */
function schemaIn(document: OpenApi, name: string): Schema | undefined {
  const list = document.paths[`/${name}`];
  const one = document.paths[`/${name}/{id}`];
  const root = { components: document.components };
  const sent = jsonIn(list?.post?.requestBody) ?? jsonIn(one?.put?.requestBody);
  const read = jsonIn(one?.get?.responses?.["200"]);
  if (sent === undefined && read === undefined) return undefined;
  const { required: _, examples: __, ...shown } = resolveSchema(read ?? {}, root);
  const { examples: ___, ...draft } = resolveSchema(sent ?? {}, root);
  const properties = Object.entries({ ...shown.properties, ...draft.properties });
  const whole = {
    ...{ ...shown, ...draft },
    properties: Object.fromEntries(properties.filter(([member]) => !added.has(member))),
  };
  return { ...whole, components: { schemas: componentsOf(whole, root) } };
}

const jsonIn = (part: BodyContent | undefined): Schema | undefined =>
  part?.content?.["application/json"]?.schema;

/** The schemas that a schema refers to, also through others, so that its references lead somewhere. */
function componentsOf(schema: Schema, root: Schema): Readonly<Record<string, Schema>> {
  const found = new Map<string, Schema>();
  const follow = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const ref = isObject(value) && typeof value.$ref === "string" ? value.$ref : "";
    const name = ref.split("/").at(-1) ?? "";
    if (ref !== "" && !found.has(name)) {
      found.set(name, schemaAt(root, ref));
      follow(found.get(name));
    }
    Object.values(value).forEach(follow);
  };
  follow(schema);
  return Object.fromEntries(found);
}
