// Defines where a backup is written to and read from: a folder, or one archive file.

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
  /** Resolves when the bytes are on disk and were read back. */
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
