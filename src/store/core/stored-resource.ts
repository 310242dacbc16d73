// Converts the stored columns of a resource, the same on every engine, to a resource, and checks their checksum.

import { crc32 } from "node:zlib";
import { Outage } from "../../model/outage.ts";
import { largeResource, type Resource } from "../../model/resource.ts";
import type { Put } from "../change.ts";
import type { ResourceRow } from "./rows.ts";

/** The columns of a resource, in this order, on every engine. Fields can be read as text or as bytes. */
export type StoredResource<Fields extends string | Uint8Array = string> = readonly [
  id: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  fields: Fields,
  owner: string | null,
  files: string | null,
  /** 1 when another state of the resource has a time within the same second. */
  sharesDate: number,
];

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Throws Damage when the checksum does not match. It is null when it was compared before. */
export function toResource(
  stored: StoredResource<string | Uint8Array>,
  checksum: number | null,
): Resource {
  if (checksum !== null && !isIntact(stored, checksum)) throw new Damage(String(stored[0]));
  return resourceIn(stored);
}

/** Does not check the checksum. */
export function resourceIn(stored: StoredResource<string | Uint8Array>): Resource {
  const [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate] = stored;
  const resource: Writable<Resource> =
    typeof fields === "string"
      ? { id, revision, createdAt, updatedAt, fields }
      : largeResource({ id, revision, createdAt, updatedAt }, fields);
  if (owner !== null) resource.owner = owner;
  if (files !== null) resource.files = files;
  if (sharesDate === 1) resource.sharesDate = true;
  return resource;
}

/** Returns the row to write, with its checksum. */
export function rowOf(seq: number, stored: StoredResource): ResourceRow {
  const [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate] = stored;
  const checksum = checksumOf(stored);
  return {
    seq,
    id,
    revision,
    createdAt,
    updatedAt,
    fields,
    bytes: Buffer.byteLength(fields),
    owner,
    files,
    sharesDate,
    checksum,
  };
}

/** Short columns are hashed with FNV-1a into the start value of the CRC, so each row needs few native calls. */
export function checksumOf(stored: StoredResource<string | Uint8Array>): number {
  const [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate] = stored;
  let hash = withText(0x811c9dc5, id);
  hash = withNumber(hash, revision);
  hash = withNumber(hash, createdAt);
  hash = withNumber(hash, updatedAt);
  hash = withNumber(hash, sharesDate);
  hash = owner === null ? withNumber(hash, 0) : withText(withNumber(hash, 1), owner);
  const start = files === null ? withNumber(hash, 0) : crc32(files, withNumber(hash, 1) >>> 0);
  return crc32(fields, start >>> 0);
}

/** The members of a put that can be missing, as columns. */
export const columnsOf = (
  put: Pick<Put, "owner" | "setOwner" | "files">,
): {
  readonly owner?: string | null;
  readonly setOwner?: string | null;
  readonly files?: string | null;
} => put;

const prime = 0x01000193;

const withNumber = (hash: number, number: number): number =>
  Math.imul(Math.imul(hash ^ (number | 0), prime) ^ Math.floor(number / 2 ** 32), prime);

function withText(hash: number, text: string): number {
  let mixed = hash;
  for (let index = 0; index < text.length; index++)
    mixed = Math.imul(mixed ^ text.charCodeAt(index), prime);
  return mixed;
}

/** Whether the checksum matches. */
export function isIntact(stored: StoredResource<string | Uint8Array>, checksum: number): boolean {
  const [id, , , , fields, owner, files] = stored;
  const hasValidTypes =
    (typeof fields === "string" || fields instanceof Uint8Array) &&
    typeof id === "string" &&
    (owner === null || typeof owner === "string") &&
    (files === null || typeof files === "string");
  return hasValidTypes && checksum === checksumOf(stored);
}

/** Thrown when the stored bytes of a resource are not those that were written. */
export class Damage extends Outage {
  readonly id: string;

  constructor(id: string, collection?: string) {
    const where = collection === undefined ? "" : ` in the collection "${collection}"`;
    super("damaged", `the resource "${id}"${where} is damaged: restore it from a backup`);
    this.id = id;
  }
}

/** Adds the name of the collection to the error; the code that reads a row does not know it. */
export const withCollection = (error: unknown, collection: string): unknown =>
  error instanceof Damage ? new Damage(error.id, collection) : error;
