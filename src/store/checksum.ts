// The checksum of a stored resource: what is read from the database must be what was written to it.

import { crc32 } from "node:zlib";
import { Outage } from "./store.ts";

/** The columns of a resource, in this order, on every engine. */
export type StoredResource = readonly [
  id: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  fields: string,
  owner: string | null,
  parts: string | null,
  /** 1 when another state of the resource has a time within the same second. */
  sharesDate: number,
];

export function checksumOf(stored: StoredResource): number {
  const [id, revision, createdAt, updatedAt, fields, owner, parts, sharesDate] = stored;
  const times = `${revision} ${createdAt} ${updatedAt} ${sharesDate}`;
  const others = `${id}\n${times}\n${owner ?? "\n"}\n${parts ?? "\n"}\n`;
  return crc32(fields, crc32(others));
}

/** Throws when the row is not what was written. Rows of older versions have no checksum. */
export function assertIntact(stored: StoredResource, checksum: number | null): void {
  const [id, , , , fields] = stored;
  const isWhole = typeof fields === "string" && typeof id === "string";
  const isIntact = isWhole && (checksum === null || checksum === checksumOf(stored));
  if (!isIntact) throw new Damage(String(id));
}

/** A resource whose stored bytes are not those that were written. */
export class Damage extends Outage {
  readonly id: string;

  constructor(id: string, collection?: string) {
    const place = collection === undefined ? "" : ` in the collection "${collection}"`;
    super("damaged", `the resource "${id}"${place} is damaged: restore it from a backup`);
    this.id = id;
  }
}

/** The same error with the name of the collection, which whoever reads a row does not know. */
export const withCollection = (error: unknown, collection: string): unknown =>
  error instanceof Damage ? new Damage(error.id, collection) : error;
