// The collections that the caller may see, for the rail and every screen that names one.

import { computed, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import { asProblem, Problem } from "../api/problem.ts";
import { token } from "../api/session.ts";
import type { Collection, Page, Schema } from "../api/types.ts";

/** What the console knows of a collection. Without the scope `admin`, only name and schema. */
export type KnownCollection = Pick<Collection, "name" | "definition"> & Partial<Collection>;

export const collections = signal<readonly KnownCollection[] | undefined>(undefined);
export const collectionsProblem = signal<Problem | undefined>(undefined);

/** Whether the token has the scope `admin`. */
export const isAdmin = signal(false);

export const collectionNames = computed(() => (collections.value ?? []).map(({ name }) => name));

export const findCollection = (name: string): KnownCollection | undefined =>
  collections.value?.find((collection) => collection.name === name);

/** Reads the collections again. Call it after a change that shows in their figures. */
export async function loadCollections(): Promise<void> {
  const asked = token.peek();
  try {
    const found = await readAll();
    if (asked !== token.peek()) return;
    collections.value = found;
    collectionsProblem.value = undefined;
  } catch (error) {
    collectionsProblem.value = asProblem(error);
  }
}

async function readAll(): Promise<readonly KnownCollection[]> {
  if (token.peek()) {
    try {
      const { data } = await get<Page<Collection>>("/-/collections");
      isAdmin.value = true;
      return data;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 403) throw error;
    }
  }
  isAdmin.value = false;
  return readVisible();
}

interface OpenPath {
  readonly post?: {
    readonly requestBody?: {
      readonly content?: Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;
    };
  };
}

interface OpenApi {
  readonly paths: Readonly<Record<string, OpenPath>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The OpenAPI document describes the collections that the caller may use. */
async function readVisible(): Promise<readonly KnownCollection[]> {
  const { paths, components } = await get<OpenApi>("/-/openapi.json");
  const names = Object.keys(paths)
    .filter((path) => /^\/[a-z0-9][a-z0-9_-]*$/.test(path))
    .map((path) => path.slice(1));
  return names.map((name) => {
    const schema = draftSchema(paths[`/${name}`], components?.schemas ?? {});
    return { name, definition: schema === undefined ? {} : { schema } };
  });
}

/** The schema of what may be created. */
function draftSchema(
  path: OpenPath | undefined,
  schemas: Readonly<Record<string, Schema>>,
): Schema | undefined {
  const content = path?.post?.requestBody?.content?.["application/json"];
  return schemas[content?.schema?.$ref?.split("/").at(-1) ?? ""];
}
