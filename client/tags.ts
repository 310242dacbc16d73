// Remembers the ETag of each resource that was read, so that a change can say which state it is made from.

import type { Identified } from "./types.ts";

const tags = new WeakMap<object, string>();

/** The ETag of a resource that came from the server; undefined for any other object. */
export const etagOf = (resource: object): string | undefined => tags.get(resource);

type Shown = Identified & { readonly _etag?: string };

/** `_etag` is in it where the request asked for it. */
export function remember<T>(shown: unknown, etag: string | null = null): T {
  const { _etag = etag, ...resource } = shown as Shown;
  if (_etag !== null && _etag !== undefined) tags.set(resource, _etag);
  return resource as T;
}
