// Stores backups in a folder. Objects of all backups are shared, and nothing is written in place.

import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncPath } from "../lib/sync-path.ts";
import { bytesOf, MissingFile, type OpenedFile } from "../store/files.ts";
import { checkObject, digestOf } from "./digest.ts";
import {
  type BackupRecord,
  checkFormat,
  type FolderRecord,
  format,
  InvalidBackup,
  inOrder,
} from "./manifest.ts";
import type {
  BackupPlace,
  ObjectReader,
  ObjectWriter,
  OpenFile,
  PlaceLock,
  StoredObject,
  WrittenFile,
} from "./objects.ts";

export const objectPattern = /^[0-9a-f]{64}(?:\.zst)?$/;

/** The path of an object within a folder or an archive. */
export const objectPath = (name: string): string => `objects/${name.slice(0, 2)}/${name.slice(2)}`;

/** Colons are not allowed in the names of files everywhere. */
export const recordPath = ({ createdAt }: BackupRecord): string =>
  `backups/${createdAt.replaceAll(":", "-")}.json`;

export const folderRecordPath = "restante-backup.json";
/** Where files are written before they get their name. Names with this prefix may be in a folder that counts as empty. */
const incomingName = "restante.incoming";

/** The lock is of the caller's kind. */
export const folderPlace = (
  path: string,
  lock: () => Promise<PlaceLock | undefined>,
): BackupPlace => ({
  lock,
  open: () => openBackupFolder(path),
  create: (store, isVerifying) => createBackupFolder(path, store, isVerifying),
  objects: () => objectsIn(path),
  removeObject: (name) => rm(join(path, objectPath(name)), { force: true }),
  async removeRecords(old) {
    for (const record of old) await rm(join(path, recordPath(record)), { force: true });
    await syncPath(join(path, "backups"));
  },
});

/** Other programs leave files beside them, such as .DS_Store. */
const objectDirectory = /^[0-9a-f]{2}$/;

async function* objectsIn(path: string): AsyncGenerator<StoredObject> {
  const objects = join(path, "objects");
  const names = await readdir(objects);
  for (const directory of names.filter((each) => objectDirectory.test(each)))
    for (const rest of await readdir(join(objects, directory)))
      yield { name: directory + rest, size: (await stat(join(objects, directory, rest))).size };
}

/** Reads the backups in a folder. Rejects when the folder has none. */
export async function openBackupFolder(path: string): Promise<ObjectReader> {
  await readFolderRecord(path);
  return readerOf(path);
}

const readerOf = (path: string): ObjectReader => ({
  read: (name) => withReason(name, readFile(join(path, objectPath(name)))),
  open: (name) => withReason(name, openFile(join(path, objectPath(name)))),
  records: () => readRecords(path),
});

/**
 * Creates the folder when it does not exist. Rejects when it has something else, or another store. With
 * `isVerifying`, objects of earlier backups are read before they are used again.
 */
export async function createBackupFolder(
  path: string,
  store: string,
  isVerifying = false,
): Promise<ObjectWriter> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const others = names.filter((name) => !name.startsWith("restante."));
  if (others.length === 0) {
    const folder: FolderRecord = { format, store };
    await mkdir(path, { recursive: true, mode: 0o700 });
    await writeWhole(path, folderRecordPath, Buffer.from(`${JSON.stringify(folder)}\n`));
  }
  const folder = await readFolderRecord(path);
  if (folder.store !== store)
    throw new InvalidBackup(`${path} has the backups of another store: choose another folder`);
  await rm(join(path, incomingName), { recursive: true, force: true });
  return new FolderWriter(path, isVerifying);
}

async function readFolderRecord(path: string): Promise<FolderRecord> {
  const text = await readFile(join(path, folderRecordPath), "utf8").catch(() => undefined);
  if (text === undefined) throw new InvalidBackup(`${path} is not a folder of backups`);
  return parseRecord(text, join(path, folderRecordPath));
}

async function readRecords(path: string): Promise<readonly BackupRecord[]> {
  const names = await readdir(join(path, "backups")).catch(() => []);
  const records: BackupRecord[] = [];
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const file = join(path, "backups", name);
    records.push(parseRecord(await readFile(file, "utf8"), file));
  }
  return inOrder(records);
}

/** Throws when this version cannot read it. */
export function parseRecord<T extends BackupRecord | FolderRecord>(text: string, where: string): T {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    throw new InvalidBackup(`${where} is damaged`);
  }
  checkFormat(record, where);
  return record as T;
}

async function withReason<T>(name: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw new InvalidBackup(`the backup has no ${objectPath(name)} (${String(error)})`);
  }
}

async function openFile(path: string): Promise<OpenedFile> {
  const { size } = await stat(path);
  return { size, bytes: createReadStream(path) };
}

class FolderWriter implements ObjectWriter {
  readonly #path: string;
  readonly #isVerifying: boolean;
  /** What is known to exist. */
  readonly #names = new Set<string>();

  constructor(path: string, isVerifying: boolean) {
    this.#path = path;
    this.#isVerifying = isVerifying;
  }

  /** A damaged object counts as missing, so that it is written again. */
  async has(name: string): Promise<boolean> {
    if (this.#names.has(name)) return true;
    const path = join(this.#path, objectPath(name));
    const check = this.#isVerifying ? checkObject(name, readerOf(this.#path)) : access(path);
    const isThere = await check.then(
      () => true,
      () => false,
    );
    if (isThere) this.#names.add(name);
    return isThere;
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await writeWhole(this.#path, objectPath(name), bytes);
    this.#names.add(name);
  }

  async writeFile(openSource: OpenFile): Promise<WrittenFile | undefined> {
    const incoming = await newIncoming(this.#path);
    try {
      const { sha256, size } = await receive(incoming, bytesOf(openSource));
      const isNew = !(await this.has(sha256));
      if (isNew) await publish(this.#path, incoming, objectPath(sha256), sha256);
      this.#names.add(sha256);
      return { sha256, size, isNew };
    } catch (error) {
      if (error instanceof MissingFile) return undefined;
      throw error;
    } finally {
      await rm(incoming, { force: true });
    }
  }

  async finish(record: BackupRecord): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(record, undefined, 2)}\n`);
    await writeWhole(this.#path, recordPath(record), bytes);
  }

  async close(): Promise<void> {
    await rm(join(this.#path, incomingName), { recursive: true, force: true });
  }
}

async function newIncoming(folder: string): Promise<string> {
  await mkdir(join(folder, incomingName), { recursive: true, mode: 0o700 });
  return join(folder, incomingName, randomBytes(16).toString("hex"));
}

async function writeWhole(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  const incoming = await newIncoming(folder);
  try {
    const { sha256 } = await receive(incoming, [bytes]);
    await publish(folder, incoming, name, sha256);
  } finally {
    await rm(incoming, { force: true });
  }
}

/** Writes the bytes to a new file, and resolves when they are on disk. */
async function receive(
  path: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  const handle = await open(path, "wx", 0o600);
  try {
    for await (const piece of bytes) {
      hash.update(piece);
      size += piece.byteLength;
      await handle.writeFile(piece);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { sha256: hash.digest("hex"), size };
}

/** Reads the file back, and gives it its name. */
async function publish(
  folder: string,
  incoming: string,
  name: string,
  sha256: string,
): Promise<void> {
  if ((await digestOf(createReadStream(incoming))).sha256 !== sha256)
    throw new Error(`${folder} does not store what is written to it`);
  const path = join(folder, name);
  const isNewDirectory = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rename(incoming, path);
  await syncPath(dirname(path));
  if (isNewDirectory !== undefined) await syncPath(dirname(dirname(path)));
}
