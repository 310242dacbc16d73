// The collections that the caller may see, for the rail and every screen that names one.

import { computed, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import { collectionsIn, type OpenApi } from "../api/openapi.ts";
import { asProblem, Problem } from "../api/problem.ts";
import { token } from "../api/session.ts";
import type { Collection, Page } from "../api/types.ts";

/** What the console knows of a collection. Without the scope `admin`, no figures. */
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

/** The token that has not the scope `admin`, so that nothing is asked in vain. */
let limited: string | undefined;

async function readAll(): Promise<readonly KnownCollection[]> {
  const secret = token.peek();
  if (secret && secret !== limited) {
    try {
      const { data } = await get<Page<Collection>>("/-/collections");
      isAdmin.value = true;
      return data;
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 403) throw error;
      limited = secret;
    }
  }
  isAdmin.value = false;
  return readVisible();
}

/** The OpenAPI document describes the collections that the caller may use. */
const readVisible = async (): Promise<readonly KnownCollection[]> =>
  collectionsIn(await get<OpenApi>("/-/openapi.json"));
