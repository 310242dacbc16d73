// The titles of other resources, read when they are shown.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { isObject, type Json } from "../api/json.ts";
import { changeCount, resourceUrl } from "./changes.ts";
import { titleFields, titleOf } from "./title.ts";

export { titleFields, titleOf };

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
