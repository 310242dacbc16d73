// Resources in SQL: their columns, and what a row says.

import type { Resource } from "../../model/resource.ts";

export type ResourceRow = readonly [
  id: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  fields: string,
  owner: string | null,
  parts: string | null,
];
export const resourceColumns = "id, revision, created, updated, fields, owner, parts";

export function toResource(row: ResourceRow): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, parts] = row;
  const resource = { id, revision, createdAt, updatedAt, fields };
  if (parts !== null)
    return owner === null ? { ...resource, parts } : { ...resource, owner, parts };
  return owner === null ? resource : { ...resource, owner };
}

/** The same with its seq, which comes first. */
export type StandingRow = readonly [seq: number, ...ResourceRow];
export const standingColumns = `seq, ${resourceColumns}`;

export function toCandidate([seq, ...row]: StandingRow): {
  readonly seq: number;
  readonly resource: Resource;
} {
  return { seq, resource: toResource(row) };
}
