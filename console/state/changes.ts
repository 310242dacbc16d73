// Changes of resources: each with the ETag that was read, so that nobody's change is lost.

import { signal } from "@preact/signals";
import { type ApiRequest, getTagged, send, type Tagged } from "../api/client.ts";
import type { JsonObject } from "../api/json.ts";
import { changedNames, fieldsOf, patchOf } from "../api/patch.ts";
import { Problem } from "../api/problem.ts";
import type { Resource } from "../api/types.ts";
import { loadCollections } from "./collections.ts";
import { holdBack, tellDone } from "./notices.ts";

export const resourceUrl = (collection: string, id: string): string =>
  `/${collection}/${encodeURIComponent(id)}`;

/** Grows with each change that was made here, so that lists are read again. */
export const changeCount = signal(0);

/** Call it after a change that this module did not make, such as an upload. */
export function reportChange(): void {
  changeCount.value += 1;
  void loadCollections();
}

/** Sends members of a resource as a merge patch; null removes one. Throws a `Problem` with the status 412 when someone else has changed it. */
export const saveFields = (
  collection: string,
  id: string,
  etag: string,
  fields: JsonObject,
): Promise<Tagged<Resource>> =>
  sendChange(
    {
      method: "PATCH",
      path: resourceUrl(collection, id),
      headers: { "Content-Type": "application/merge-patch+json", "If-Match": etag },
      body: fields,
    },
    { ...fields, id },
  );

/** The request that turns what was read into what is wanted. */
export function changeRequest(
  collection: string,
  id: string,
  base: Tagged<JsonObject>,
  draft: JsonObject,
): ApiRequest {
  const { type, body } = patchOf(base.body, draft);
  const headers = { "Content-Type": type, "If-Match": base.etag };
  return { method: "PATCH", path: resourceUrl(collection, id), headers, body };
}

export const saveDraft = (
  collection: string,
  id: string,
  base: Tagged<JsonObject>,
  draft: JsonObject,
): Promise<Tagged<Resource>> =>
  sendChange(changeRequest(collection, id, base, draft), { ...draft, id });

/** The ETags of states that were written back, by the resource and the ETag that they had before. */
const renewed = new Map<string, string>();

/** Tells that a resource was changed, and lets the change be undone as long as nobody else has changed it. */
export function tellSaved(
  collection: string,
  id: string,
  before: Tagged<JsonObject>,
  saved: Tagged<Resource>,
): void {
  const after = { body: fieldsOf(saved.body), etag: saved.etag };
  // Without a right to read there is no former state; what is never shown has none either.
  const isKnown = saved.etag !== "" && changedNames(after.body, before.body).length > 0;
  tellDone("Saved.", isKnown ? () => writeBack(collection, id, before, after) : undefined);
}

async function writeBack(
  collection: string,
  id: string,
  before: Tagged<JsonObject>,
  after: Tagged<JsonObject>,
): Promise<void> {
  const key = resourceUrl(collection, id);
  const etag = renewed.get(`${key} ${after.etag}`) ?? after.etag;
  const { body } = before;
  const restored = await saveDraft(collection, id, { body: after.body, etag }, body).catch(
    notUndone,
  );
  renewed.set(`${key} ${before.etag}`, restored.etag);
}

/** Why a change stays. */
function notUndone(error: unknown): never {
  if (!isConflict(error)) throw error;
  throw new Error("Not undone: someone else has changed it meanwhile.");
}

/** The same key creates the resource once, however often it is sent. */
export const createRequest = (
  collection: string,
  draft: JsonObject,
  key: string,
  files: ChosenFiles = new Map(),
): ApiRequest => ({
  method: "POST",
  path: `/${collection}`,
  headers: { "Idempotency-Key": `"${key}"` },
  body: files.size === 0 ? draft : formOf(draft, files),
});

/** By the names of their fields. */
type ChosenFiles = ReadonlyMap<string, readonly File[]>;

/** The fields as one part of JSON, and each file. */
function formOf(draft: JsonObject, files: ChosenFiles): FormData {
  const form = new FormData();
  form.append("data", new Blob([JSON.stringify(draft)], { type: "application/json" }));
  for (const [field, list] of files) for (const file of list) form.append(field, file);
  return form;
}

export const createResource = (
  collection: string,
  draft: JsonObject,
  key: string,
  files?: ChosenFiles,
): Promise<Tagged<Resource>> => sendChange(createRequest(collection, draft, key, files), draft);

/** Creates a resource that someone else has deleted, with its former id. */
export async function createAgain(
  collection: string,
  id: string,
  draft: JsonObject,
): Promise<Tagged<Resource>> {
  const headers = { "Content-Type": "application/json", "If-None-Match": "*" };
  await sendChange(
    { method: "PUT", path: resourceUrl(collection, id), headers, body: draft },
    { id },
  );
  return getTagged(resourceUrl(collection, id));
}

/** A caller that may write but not read gets no body. */
async function sendChange(request: ApiRequest, sent: JsonObject): Promise<Tagged<Resource>> {
  const response = await send(request);
  const text = await response.text();
  const location = response.headers.get("location")?.split("/").at(-1);
  const id = location === undefined ? {} : { id: decodeURIComponent(location) };
  const body = (text === "" ? { ...sent, ...id } : JSON.parse(text)) as Resource;
  reportChange();
  return { body, etag: response.headers.get("etag") ?? "" };
}

/** `collection/id` of resources whose deletion is held back. Lists leave them out. */
export const heldDeletions = signal<ReadonlySet<string>>(new Set());

const hold = (key: string): void => {
  heldDeletions.value = heldDeletions.peek().union(new Set([key]));
};
const release = (key: string): void => {
  heldDeletions.value = heldDeletions.peek().difference(new Set([key]));
};

/** Deletes a resource after some seconds in which it can be undone. */
export function deleteSoon(
  collection: string,
  id: string,
  etag: string,
  title: string,
  undone: () => void,
): void {
  const key = `${collection}/${id}`;
  const headers = { "If-Match": etag };
  hold(key);
  const run = async (): Promise<void> => {
    await send({ method: "DELETE", path: resourceUrl(collection, id), headers });
    reportChange();
    release(key);
    tellDone(`Deleted ${title}.`);
  };
  holdBack({
    ...{ text: `${title} will be deleted.`, run, leave: run },
    undone: () => {
      release(key);
      undone();
    },
  });
}

/** Two changes of one resource, for the dialog that asks which one counts. */
export interface Conflict {
  readonly collection: string;
  readonly id: string;
  /** What was read before the change. */
  readonly base: JsonObject;
  readonly mine: JsonObject;
  readonly theirs: Tagged<JsonObject>;
  readonly onSaved: (saved: Tagged<Resource>) => void;
}

/** The dialog is open while there is one. */
export const conflict = signal<Conflict | undefined>(undefined);

export const isConflict = (error: unknown): boolean =>
  error instanceof Problem && error.status === 412;

/** Reads the current state after a 412, and opens the dialog. `base` and `mine` are whole resources. */
export async function openConflict({
  base,
  mine,
  ...rest
}: Omit<Conflict, "theirs">): Promise<void> {
  const { body, etag } = await getTagged<Resource>(resourceUrl(rest.collection, rest.id));
  const theirs = { body: fieldsOf(body), etag };
  conflict.value = { ...rest, base: fieldsOf(base), mine: fieldsOf(mine), theirs };
}

/** Saves what was chosen on top of their state. Another change meanwhile opens the dialog again. */
export async function resolveConflict(chosen: JsonObject): Promise<void> {
  const current = conflict.peek();
  if (current === undefined) return;
  const { collection, id, theirs, onSaved } = current;
  try {
    const saved = await saveDraft(collection, id, theirs, chosen);
    conflict.value = undefined;
    onSaved(saved);
    tellSaved(collection, id, theirs, saved);
  } catch (error) {
    if (!isConflict(error)) throw error;
    await openConflict({ ...current, base: theirs.body, mine: chosen });
  }
}
