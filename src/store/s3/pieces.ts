// The objects of an incomplete upload in a bucket: their names, and what they hold.

import type { UploadEnd } from "../files.ts";
import type { S3Client } from "./client.ts";
import { type ListedObject, listObjects } from "./objects.ts";

export const partial = "partial/";
export const finished = "finished/";
export const nothingSent: UploadPiece = { data: "", size: 0 };

/**
 * An append claims `open-7`, uploads its bytes, and seals itself as `sealed-7`, which names them. The
 * process of a later request ends it by an empty `sealed-7`. Both write only if there is none, so one of
 * them succeeds. A number is never used twice. The request that ends the upload seals the next number.
 */
export interface UploadPiece {
  readonly data: string;
  readonly size: number;
  readonly end?: UploadEnd;
}

export interface UploadState {
  readonly objects: readonly ListedObject[];
  readonly pieces: readonly UploadPiece[];
  /** The last number that was used. */
  readonly number: number;
  readonly isOpen: boolean;
  readonly end: UploadEnd | undefined;
}

/** An upload in a list of all objects. */
export interface ListedUpload {
  readonly id: string;
  /** Of its youngest object. */
  readonly ageMs: number;
  /** The last name in alphabetical order: that of the last sealed piece, if there is one. */
  readonly lastName: string;
}

export const folderOf = (id: string): string => `${partial}${id}/`;
export const descriptionOf = (id: string): string => `${folderOf(id)}description`;
/** Its own object: to replace the description would bring an upload back that is removed meanwhile. */
export const changedOf = (id: string): string => `${folderOf(id)}changed-description`;
export const dataOf = (id: string, key: string): string => `${folderOf(id)}data-${key}`;
const digits = (number: number | undefined): string =>
  number === undefined ? "" : String(number).padStart(6, "0");
export const openOf = (id: string, number?: number): string =>
  `${folderOf(id)}open-${digits(number)}`;
export const sealedOf = (id: string, number?: number): string =>
  `${folderOf(id)}sealed-${digits(number)}`;
export const numberIn = (name: string): number => Number(name.slice(name.lastIndexOf("-") + 1));

export const sizeOf = (pieces: readonly UploadPiece[]): number =>
  pieces.reduce((sum, { size }) => sum + size, 0);

/** Yields all uploads. The objects of one are listed one after the other. */
export async function* uploadsIn(client: S3Client): AsyncGenerator<ListedUpload> {
  let last: ListedUpload | undefined;
  for await (const objects of listObjects(client, partial))
    for (const { name, ageMs } of objects) {
      const id = name.split("/")[1] ?? "";
      if (last !== undefined && last.id !== id) yield last;
      const former = last?.id === id ? last : { ageMs, lastName: name };
      const lastName = name > former.lastName ? name : former.lastName;
      last = { id, ageMs: Math.min(former.ageMs, ageMs), lastName };
    }
  if (last !== undefined) yield last;
}
