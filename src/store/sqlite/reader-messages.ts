// The messages between the main thread and a reader thread.

import type { Collection } from "../../model/collection.ts";
import type { Outage } from "../../model/outage.ts";
import type { Query } from "../../model/query/query.ts";
import { resourceIn, type StoredResource } from "../core/stored-resource.ts";
import type { QueryResult } from "../store.ts";

export interface ReaderData {
  readonly path: string;
  readonly maxCounted: number | undefined;
  /** Holds the number of the query to stop. */
  readonly stopped: Int32Array<SharedArrayBuffer>;
}

export interface ReaderRequest {
  readonly number: number;
  readonly collection: string;
  readonly query: Query;
}

/** A result whose resources are arrays of their columns, which are copied faster than objects. */
export interface PackedResult extends Omit<QueryResult, "resources" | "collection"> {
  readonly collection: Collection;
  readonly rows: readonly StoredResource[];
}

export type ReaderReply =
  | { readonly kind: "result"; readonly result: PackedResult | undefined }
  | {
      readonly kind: "outage";
      readonly reason: Outage["reason"];
      readonly message: string;
      /** The id of a damaged resource. */
      readonly id?: string;
    }
  | { readonly kind: "bug"; readonly message: string };

export function packResult({ resources, ...result }: QueryResult): PackedResult {
  return {
    ...result,
    rows: resources.map((resource) => {
      const { id, revision, createdAt, updatedAt, fields } = resource;
      const { owner = null, files = null, sharesDate } = resource;
      return [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate ? 1 : 0];
    }),
  };
}

export function unpackResult({ rows, ...result }: PackedResult): QueryResult {
  return { ...result, resources: rows.map(resourceIn) };
}
