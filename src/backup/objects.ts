// Defines where a backup is written to and read from: a folder, a bucket, or one archive file.

import type { OpenedFile } from "../store/files.ts";
import type { BackupRecord } from "./manifest.ts";

/** A file to write. It is opened more than once where its size and hash are needed first. */
export type OpenFile = () => Promise<OpenedFile | undefined>;

export interface WrittenFile {
  readonly sha256: string;
  readonly size: number;
  /** False when the same content was there already. */
  readonly isNew: boolean;
}

/** Objects are named by their content, so that nothing is written twice. */
export interface ObjectWriter {
  has(name: string): Promise<boolean>;
  /** Resolves when the bytes are stored, and were compared with their hash. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Resolves with undefined when the file does not exist any more. */
  writeFile(open: OpenFile): Promise<WrittenFile | undefined>;
  /** Completes the backup. */
  finish(record: BackupRecord): Promise<void>;
  close(): Promise<void>;
}

export interface ObjectReader {
  /** Rejects with InvalidBackup when there is no such object. */
  read(name: string): Promise<Buffer>;
  open(name: string): Promise<OpenedFile>;
  /** The backups, the oldest first. */
  records(): Promise<readonly BackupRecord[]>;
}

export interface StoredObject {
  readonly name: string;
  readonly size: number;
}

export interface PlaceLock {
  release(): void | Promise<void>;
}

/** Where the backups of one store share their objects: a folder, or a place in a bucket. */
export interface BackupPlace {
  /** Resolves with undefined when another process writes there. */
  lock(): Promise<PlaceLock | undefined>;
  /** Rejects when it has no backups. */
  open(): Promise<ObjectReader>;
  /**
   * Prepares a place that is empty. Rejects when it has something else, or another store. With
   * `isVerifying`, objects of earlier backups are read before they are used again.
   */
  create(store: string, isVerifying?: boolean): Promise<ObjectWriter>;
  /** Resolves when the removal is durable. */
  removeRecords(records: readonly BackupRecord[]): Promise<void>;
  objects(): AsyncIterable<StoredObject>;
  removeObject(name: string): Promise<void>;
}
