// Reads and saves a definition with its ETag, so that nobody's change is lost.

import { type ApiRequest, get, getTagged, send, type Tagged } from "../api/client.ts";
import type { JsonObject } from "../api/json.ts";
import { Problem } from "../api/problem.ts";
import type { Schema } from "../api/types.ts";
import type { Violations } from "./check-result.tsx";

export const definitionPath = (collection: string): string =>
  `/-/collections/${collection}/definition`;

/** A collection that does not exist yet has an empty definition without a tag. */
export async function readDefinition(
  collection: string,
  signal?: AbortSignal,
): Promise<Tagged<JsonObject>> {
  try {
    return await getTagged<JsonObject>(definitionPath(collection), signal);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return { body: {}, etag: "" };
    throw error;
  }
}

/** Fails with 412 when someone else has saved another one since the one with this tag was read. */
export const saveRequest = (collection: string, body: JsonObject, etag: string): ApiRequest => ({
  method: "PUT",
  path: definitionPath(collection),
  headers: etag === "" ? { "If-None-Match": "*" } : { "If-Match": etag },
  body,
});

export interface SavedDefinition {
  readonly saved: Tagged<JsonObject>;
  readonly violations: Violations;
}

export async function saveDefinition(
  collection: string,
  body: JsonObject,
  etag: string,
): Promise<SavedDefinition> {
  const response = await send(saveRequest(collection, body, etag));
  const { violations } = (await response.json()) as { violations: Violations };
  const tag = response.headers.get("etag");
  // Without a tag it is stored in another spelling.
  const saved = tag === null ? await readDefinition(collection) : { body, etag: tag };
  return { saved, violations };
}

/** Changes the definition as it is now, also when someone else changes it at the same time. */
export async function editDefinition(
  collection: string,
  edit: (definition: JsonObject) => JsonObject | undefined,
): Promise<void> {
  const { body, etag } = await readDefinition(collection);
  const wanted = edit(body);
  if (wanted === undefined) return;
  try {
    await saveDefinition(collection, wanted, etag);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 412) throw error;
    await editDefinition(collection, edit);
  }
}

/** The schema of definitions, for hints. */
export async function readHints(signal: AbortSignal): Promise<Schema> {
  const document = await get<JsonObject>("/-/openapi.json", signal);
  return { ...(document as Schema), $ref: "#/components/schemas/DefinitionDraft" };
}
