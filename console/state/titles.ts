// What a resource is called where there is room for one line: its name, title or the like.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { isObject, type Json, type JsonObject, memberOf } from "../api/json.ts";
import { changeCount, resourceUrl } from "./changes.ts";

/** The first that is a text counts. */
export const titleFields: readonly string[] = [
  ...["name", "title", "label", "displayName", "fullName", "subject", "email", "username"],
  ...["number", "code", "sku", "slug", "key"],
];

const longest = 200;

const isText = (value: Json | undefined): value is string =>
  typeof value === "string" && value.trim() !== "";

export function titleOf(resource: JsonObject): string {
  const wanted = titleFields.map((name) => memberOf(resource, name));
  const found = wanted.find((value) => isText(value) || typeof value === "number");
  return String(found ?? firstText(resource) ?? memberOf(resource, "id") ?? "").slice(0, longest);
}

/** The title may be a number; any other field must be a text. */
function firstText(resource: JsonObject): string | undefined {
  const members = Object.entries(resource);
  const texts = members.filter(([name]) => !["id", "createdAt", "updatedAt"].includes(name));
  return texts
    .map(([, value]) => value)
    .find((value) => isText(value) && value.length <= longest) as string | undefined;
}

const known = new Map<string, Promise<string | undefined>>();
changeCount.subscribe(() => known.clear());

/** Undefined when there is no such resource, or none that the caller may read. */
function loadTitle(collection: string, id: string): Promise<string | undefined> {
  const path = resourceUrl(collection, id);
  const loading =
    known.get(path) ??
    get<Json>(path).then(
      (body) => (isObject(body) ? titleOf(body) : undefined),
      () => undefined,
    );
  known.set(path, loading);
  return loading;
}

/** The title of another resource; undefined while it loads, null when it cannot be read. */
export function useTitle(collection: string, id: string): string | null | undefined {
  const [title, setTitle] = useState<string | null>();
  useEffect(() => {
    let isCurrent = true;
    setTitle(undefined);
    void loadTitle(collection, id).then((found) => isCurrent && setTitle(found ?? null));
    return () => {
      isCurrent = false;
    };
  }, [collection, id]);
  return title;
}
