// Remembers the ETag of each resource that was read, so that a change can say which state it is made from.

import type { Identified } from "./types.ts";

const tags = new WeakMap<object, string>();

/** The ETag of a resource that came from the server; undefined for any other object. */
export const etagOf = (resource: object): string | undefined => tags.get(resource);

/** Gives a copy of a resource the ETag that the resource came with, so that a change sends it. */
export function withEtag<T extends object>(resource: T, etag: string | undefined): T {
  if (etag !== undefined) tags.set(resource, etag);
  return resource;
}

type Shown = Identified & { readonly _etag?: string };

/** `_etag` is in it where the request asked for it. Throws for what is no resource. */
export function remember<T>(shown: unknown, etag: string | null = null): T {
  const { _etag = etag, ...resource } = shown as Shown;
  if (typeof resource.id !== "string") throw new TypeError("It has no id.");
  return withEtag(resource, _etag ?? undefined) as T;
}
