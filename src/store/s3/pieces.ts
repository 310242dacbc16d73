// The objects of an incomplete upload in a bucket: their names, and what they hold.

import type { UploadEnd } from "../files.ts";
import type { ListedObject } from "./objects.ts";

export const partial = "partial/";
export const finished = "finished/";
export const nothingSent: Piece = { data: "", size: 0 };

/**
 * An append claims `open-7`, uploads its bytes, and seals itself as `sealed-7`, which names them. The
 * process of a later request ends it by an empty `sealed-7`. Both write only if there is none, so one of
 * them succeeds. A number is never used twice. The request that ends the upload seals the next number.
 */
export interface Piece {
  readonly data: string;
  readonly size: number;
  readonly end?: UploadEnd;
}

export interface State {
  readonly objects: readonly ListedObject[];
  readonly pieces: readonly Piece[];
  /** The last number that was used. */
  readonly number: number;
  readonly isOpen: boolean;
  readonly end: UploadEnd | undefined;
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

export const sizeOf = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, { size }) => sum + size, 0);
