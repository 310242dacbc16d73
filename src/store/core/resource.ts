// Converts the stored columns of a resource, which are the same on every engine, to a resource.

import type { Resource } from "../../model/resource.ts";
import { assertIntact, type StoredResource } from "./checksum.ts";

/** Throws Damage when the checksum does not match. */
export function toResource(stored: StoredResource, checksum: number | null): Resource {
  assertIntact(stored, checksum);
  return resourceIn(stored);
}

/** Does not check the checksum. */
export function resourceIn(stored: StoredResource): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate] = stored;
  const resource = { id, revision, createdAt, updatedAt, fields };
  if (owner === null && files === null && sharesDate === 0) return resource;
  return {
    ...resource,
    ...(owner !== null && { owner }),
    ...(files !== null && { files }),
    ...(sharesDate === 1 && { sharesDate: true }),
  };
}
