// Reads the files of a folder that anyone may read: none outside of it, and none whose name begins with a dot.

import { hash } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { codeOf } from "./system-error.ts";

/** Smaller files are read as a whole. */
const smallBytes = 262_144;
const chunkBytes = 262_144;

export interface PublicFile {
  readonly path: string;
  readonly size: number;
  /** Other bytes have another one. */
  readonly version: string;
  readonly modifiedAt: number;
  /** All bytes; undefined for a large file, whose bytes are read while they are sent. */
  readonly bytes: Uint8Array<ArrayBuffer> | undefined;
}

export class PublicFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns undefined when nothing there is public. Links are followed as long as they stay in the folder,
   * which may be a link itself: it is looked up each time, so that it can be replaced.
   */
  async find(names: readonly string[]): Promise<PublicFile | "folder" | undefined> {
    if (!arePublic(names)) return undefined;
    try {
      const root = await realpath(this.#folder);
      const path = await realpath(join(root, ...names));
      const inside = relative(root, path);
      if (inside !== "" && !arePublic(inside.split(sep))) return undefined;
      return await withFile(path, (handle) => describe(path, handle));
    } catch (error) {
      if (notThere.has(codeOf(error))) return undefined;
      throw error;
    }
  }
}

const notThere = new Set([
  "ENOENT",
  "ENOTDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "EACCES",
  "EPERM",
  "ENXIO",
]);

/** `.well-known` is what other programs look for at a website (RFC 8615). */
const arePublic = (names: readonly string[]): boolean =>
  names.every((name, index) => isPublic(name) || (index === 0 && name === ".well-known"));

/** A name is no path: a separator or NUL in it came encoded. */
const isPublic = (name: string): boolean =>
  name !== "" && !name.startsWith(".") && !/[/\\\0]/.test(name);

/** Does not wait for the other end of a named pipe. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function withFile<Result>(
  path: string,
  use: (handle: FileHandle) => Promise<Result>,
): Promise<Result> {
  const handle = await open(path, flags);
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

async function describe(
  path: string,
  handle: FileHandle,
): Promise<PublicFile | "folder" | undefined> {
  const stats = await handle.stat({ bigint: true });
  if (stats.isDirectory()) return "folder";
  if (!stats.isFile()) return undefined;
  const modifiedAt = Number(stats.mtimeMs);
  if (stats.size > smallBytes)
    return {
      path,
      size: Number(stats.size),
      version: stateOf(stats),
      modifiedAt,
      bytes: undefined,
    };
  const bytes = new Uint8Array(await handle.readFile());
  return { path, size: bytes.length, version: contentOf(bytes), modifiedAt, bytes };
}

const contentOf = (bytes: Uint8Array): string => hash("sha256", bytes, "base64url").slice(0, 22);

/** Programs can set the time of a modification, but not that of a change. */
const stateOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [ino, size, mtimeNs, ctimeNs].map((number) => number.toString(36)).join("-");

/** Yields these bytes of a large file. Throws instead of mixing them with those of another version. */
export async function* readPublicFile(
  { path, version }: PublicFile,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  const handle = await open(path, flags);
  try {
    for (let position = start; position < end; ) {
      const length = Math.min(chunkBytes, end - position);
      const { bytesRead, buffer } = await handle.read(new Uint8Array(length), 0, length, position);
      if (bytesRead === 0 || stateOf(await handle.stat({ bigint: true })) !== version)
        throw new Error(`${path} was changed while it was sent`);
      position += bytesRead;
      yield bytesRead === length ? buffer : buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}
