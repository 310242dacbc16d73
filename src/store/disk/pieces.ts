// Names, lists and seals the pieces of an incomplete upload: one file for each append, whose name has its number and its size.

import { open, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { syncPath } from "../../lib/sync-path.ts";
import type { UploadEnd } from "../files.ts";
import { ignoreMissing } from "./errors.ts";

/**
 * An append writes to `000007.open`. The process that ends it, its own or that of a later request,
 * renames it to `000007-SIZE`: only one rename succeeds, and bytes after SIZE do not count. A number is
 * never used twice, so a late rename cannot hit another file. The request that ends the upload takes a
 * number in the same way, as `000008.completed` or `000008.cancelled`.
 */
export interface UploadPiece {
  readonly number: number;
  readonly name: string;
  readonly size: number;
  readonly isOpen: boolean;
  readonly end?: UploadEnd | undefined;
}

const digits = (number: number): string => String(number).padStart(6, "0");
export const openName = (number: number): string => `${digits(number)}.open`;
export const sealedName = (number: number, size: number): string => `${digits(number)}-${size}`;
export const endName = (number: number, how: UploadEnd): string => `${digits(number)}.${how}`;
const pieceName = /^(\d{6})(?:-(\d+)|\.(open|completed|cancelled))$/;

export const sizeOf = (pieces: readonly UploadPiece[]): number =>
  pieces.reduce((sum, { size }) => sum + size, 0);

export const endOf = (pieces: readonly UploadPiece[]): UploadEnd | undefined => pieces.at(-1)?.end;

export const nextNumber = (pieces: readonly UploadPiece[]): number =>
  (pieces.at(-1)?.number ?? 0) + 1;

/** Returns the pieces in order, or undefined when there is no such directory. */
export async function piecesIn(directory: string): Promise<readonly UploadPiece[] | undefined> {
  const names = await ignoreMissing(readdir(directory));
  if (names === undefined) return undefined;
  const pieces = names.sort().map((name) => pieceOf(directory, name));
  return (await Promise.all(pieces)).filter((piece) => piece !== undefined);
}

async function pieceOf(directory: string, name: string): Promise<UploadPiece | undefined> {
  const [, digits, sealed = "0", state] = pieceName.exec(name) ?? [];
  if (digits === undefined) return undefined;
  const [number, isOpen] = [Number(digits), state === "open"];
  const end = isOpen ? undefined : (state as UploadEnd | undefined);
  if (!isOpen) return { number, name, isOpen, size: Number(sealed), end };
  const stats = await ignoreMissing(stat(join(directory, name)));
  return { number, name, isOpen, size: stats?.size ?? 0 };
}

/** Bytes that are written after the size was read do not count. */
export async function sealSynced(directory: string, { number, name }: UploadPiece): Promise<void> {
  const handle = await open(join(directory, name), "r");
  try {
    const { size } = await handle.stat();
    await handle.sync();
    await rename(join(directory, name), join(directory, sealedName(number, size)));
    await syncPath(directory);
  } finally {
    await handle.close();
  }
}
