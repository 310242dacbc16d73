// Resources in SQL: their columns, and what a row says.

import type { Resource } from "../../model/resource.ts";
import { assertIntact, type StoredResource } from "../checksum.ts";
import type { Value } from "./connection.ts";

export type ResourceRow = readonly [...StoredResource, checksum: number | null];
export const resourceColumns =
  "id, revision, created, updated, fields, owner, parts, shares_date, checksum";

/** Throws when the row is not what was written. */
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

/** Those members of a resource that it may lack. */
export const optionalMembers = (
  owner: string | null | undefined,
  parts: string | null | undefined,
  sharesDate: number,
): Pick<Resource, "owner" | "parts" | "sharesDate"> => ({
  ...(typeof owner === "string" && { owner }),
  ...(typeof parts === "string" && { parts }),
  ...(sharesDate === 1 && { sharesDate: true }),
});

/** The same with its seq, which comes first. */
export type StandingRow = readonly [seq: number, ...ResourceRow];
export const standingColumns = `seq, ${resourceColumns}`;

interface Standing {
  readonly seq: number;
  readonly resource: Resource;
}

export const toCandidate = ([seq, ...row]: StandingRow): Standing => ({
  seq,
  resource: toResource(row),
});

/** For the writer: a damaged row must not fail the whole batch, and is refused when it is read. */
export const toUncheckedCandidate = ([seq, ...row]: StandingRow): Standing => ({
  seq,
  resource: resourceIn(row),
});
