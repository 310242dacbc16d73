// Defines the columns of a resource, and converts rows to resources.

import type { Resource } from "../../model/resource.ts";
import { assertIntact, type StoredResource } from "../core/checksum.ts";
import type { Value } from "./connection.ts";

export type ResourceRow = readonly [...StoredResource, checksum: number | null];
export const resourceColumns =
  "id, revision, created, updated, fields, owner, parts, shares_date, checksum";

/** Throws Damage when the checksum does not match. */
export function toResource(row: readonly [...ResourceRow, ...Value[]]): Resource {
  assertIntact(row as unknown as StoredResource, row[8]);
  return resourceIn(row);
}

function resourceIn(row: readonly [...ResourceRow, ...Value[]]): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, parts, sharesDate] = row;
  const resource = { id, revision, createdAt, updatedAt, fields };
  if (owner === null && parts === null && sharesDate === 0) return resource;
  return { ...resource, ...optionalMembers(owner, parts, sharesDate) };
}

/** Returns the optional members of a resource that are set. */
export const optionalMembers = (
  owner: string | null | undefined,
  parts: string | null | undefined,
  sharesDate: number,
): Pick<Resource, "owner" | "parts" | "sharesDate"> => ({
  ...(typeof owner === "string" && { owner }),
  ...(typeof parts === "string" && { parts }),
  ...(sharesDate === 1 && { sharesDate: true }),
});

/** A resource row with its seq in front. */
export type SeqResourceRow = readonly [seq: number, ...ResourceRow];
export const seqResourceColumns = `seq, ${resourceColumns}`;

interface SeqResource {
  readonly seq: number;
  readonly resource: Resource;
}

export const toCandidate = ([seq, ...row]: SeqResourceRow): SeqResource => ({
  seq,
  resource: toResource(row),
});

/** Used by the writer: a damaged row must not fail the whole batch. Readers report it. */
export const toUncheckedCandidate = ([seq, ...row]: SeqResourceRow): SeqResource => ({
  seq,
  resource: resourceIn(row),
});
