// Defines the contract of a file store. A row references a file only after its bytes are on disk.

export interface Files {
  /**
   * Saves the bytes, and resolves when they are on disk. Resolves with `too-large` when there are more than
   * `maxBytes`, and rejects with the error of the source. In both cases nothing is left behind.
   */
  save(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large">;
  /** Returns the bytes from `start` to `end` (exclusive), or undefined when the file does not exist. */
  read(key: string, start: number, end: number): Promise<FileBytes | undefined>;
  /** Returns all bytes of a file, or undefined when it does not exist. */
  open(key: string): Promise<OpenedFile | undefined>;
  /** Returns the size of a file in bytes, or undefined when it does not exist. */
  size(key: string): Promise<number | undefined>;
  /**
   * Saves bytes under the key that they have in another store. Resolves with false when the file is there
   * already. Rejects when they have another hash.
   */
  saveAs(key: string, bytes: AsyncIterable<Uint8Array>, sha256: string): Promise<boolean>;
  /**
   * Sets the modification time of files to now, so that no sweep removes them. Rejects with an Outage
   * when one has been removed already.
   */
  touch(keys: readonly string[]): Promise<void>;
  /**
   * Called after the commit that references the files, and before it is acknowledged: makes sure that no
   * sweep of another process removed them. Rejects with an Outage when one is gone.
   */
  confirm(keys: readonly string[]): Promise<void>;
  /** Ignores files that do not exist. */
  remove(keys: readonly string[]): Promise<void>;
  /**
   * Sets files aside that a commit will unreference. They can still be read. Afterwards `settleAside`
   * removes them, and puts back those that are still referenced, also after a crash.
   */
  setAside(keys: readonly string[]): Promise<void>;
  settleAside(findReferenced: FindReferenced): Promise<void>;
  /**
   * Removes files that no resource references and that are older than this; a crashed process has left
   * them. Resolves with their number. `findReferenced` returns those of the keys that a resource references.
   */
  sweep(findReferenced: FindReferenced, olderThanMs: number): Promise<number>;
  /** Yields the keys of the files that a sweep removes. */
  orphans(findReferenced: FindReferenced, olderThanMs: number): AsyncIterable<readonly string[]>;
}

export type FindReferenced = (keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** A response body. */
export type FileBytes = ReadableStream<Uint8Array> | Blob;

export interface OpenedFile {
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface SavedFile {
  readonly key: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}
