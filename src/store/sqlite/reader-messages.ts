// The messages between the main thread and a reader thread.

import type { ThreadData } from "../../lib/thread-pool.ts";
import type { Outage } from "../../model/outage.ts";
import type { Query } from "../../model/query/query.ts";
import { resourceIn, type StoredResource } from "../core/stored-resource.ts";
import type { QueryResult, Range, Slice } from "../store.ts";

export interface ReaderData extends ThreadData {
  readonly path: string;
  readonly commitCounter: string;
  readonly maxCounted: number | undefined;
}

/** What a reader thread reads: the answer to a query, or a range. */
export type LongRead =
  | { readonly collection: string; readonly query: Query }
  | { readonly collection: string; readonly range: Range };
export type LongResult = QueryResult | Slice;

/** A read, or the wish for what is left of its result. */
export type ReaderRequest = LongRead | "next";

type ResourceRows = readonly StoredResource<string | Uint8Array>[];

/** A result whose resources are arrays of their columns, which are copied faster than objects. */
export type PackedResult = Omit<LongResult, "resources"> & { readonly rows: ResourceRows };

export type ReaderReply =
  | { readonly kind: "result"; readonly result: PackedResult | undefined }
  /** The first rows of a large result, or the next; the others are sent when they are asked for. */
  | { readonly kind: "rows"; readonly rows: ResourceRows }
  | {
      readonly kind: "outage";
      readonly reason: Outage["reason"];
      readonly message: string;
      /** The id of a damaged resource. */
      readonly id?: string;
    }
  | { readonly kind: "bug"; readonly message: string };

export function packResult({ resources, ...result }: LongResult): PackedResult {
  return {
    ...result,
    rows: resources.map((resource) => {
      const { id, revision, createdAt, updatedAt, owner = null, files = null } = resource;
      const { sharesDate, fieldBytes: fields = resource.fields } = resource;
      return [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate ? 1 : 0];
    }),
  };
}

export function unpackResult(first: ResourceRows, { rows, ...result }: PackedResult): LongResult {
  return { ...result, resources: [...first, ...rows].map(resourceIn) };
}

/** Returns the buffers of a message that the other thread takes over. */
export function buffersIn(reply: ReaderReply): ArrayBuffer[] {
  const rows =
    reply.kind === "rows" ? reply.rows : reply.kind === "result" ? reply.result?.rows : [];
  return (rows ?? []).flatMap(([, , , , fields]) =>
    typeof fields === "string" ? [] : [fields.buffer as ArrayBuffer],
  );
}

/** The size of the rows in one message. A larger message would block the event loop while it is received. */
const maxRowsChars = 262_144;

/** Splits a result into messages; a row that is larger has a message of its own. */
export function* messagesOf({ rows, ...result }: PackedResult): Generator<ReaderReply> {
  let start = 0;
  let chars = 0;
  for (const [index, [, , , , fields]] of rows.entries()) {
    chars += fields.length;
    if (chars <= maxRowsChars || index === start) continue;
    yield { kind: "rows", rows: rows.slice(start, index) };
    start = index;
    chars = fields.length;
  }
  yield { kind: "result", result: { ...result, rows: rows.slice(start) } };
}
