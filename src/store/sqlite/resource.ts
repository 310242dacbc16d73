// Defines the columns of a resource, and converts rows to resources.

import type { Candidate } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { StoredResource } from "../core/checksum.ts";
import { resourceIn, toResource as toCheckedResource } from "../core/resource.ts";
import type { Value } from "./connection.ts";

export type ResourceRow = readonly [...StoredResource, checksum: number | null];
export const resourceColumns =
  "id, revision, created, updated, fields, owner, files, shares_date, checksum";

/** Throws Damage when the checksum does not match. */
export const toResource = (row: readonly [...ResourceRow, ...Value[]]): Resource =>
  toCheckedResource(row as unknown as StoredResource, row[8]);

/** A resource row with its seq in front. */
export type SeqResourceRow = readonly [seq: number, ...ResourceRow];
export const seqResourceColumns = `seq, ${resourceColumns}`;

export const toCandidate = ([seq, ...row]: SeqResourceRow): Candidate => ({
  seq,
  resource: toResource(row),
});

/** Used by the writer: a damaged row must not fail the whole batch. Readers report it. */
export const toUncheckedCandidate = ([seq, ...row]: SeqResourceRow): Candidate => ({
  seq,
  resource: resourceIn(row as unknown as StoredResource),
});
