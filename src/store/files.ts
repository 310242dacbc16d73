// Defines the contract of a file store. A row references a file only after its bytes are stored.

export interface Files {
  /**
   * Saves the bytes, and resolves when they are on disk. Resolves with `too-large` when there are more than
   * `maxBytes`, and rejects with the error of the source. In both cases nothing is left behind.
   */
  save(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large">;
  /**
   * Returns the bytes from `start` to `end` (exclusive), or undefined when the file does not exist. They can
   * be read to the end also when the file is removed meanwhile.
   */
  read(key: string, start: number, end: number): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * The same for a runtime that cannot set a stream's Content-Length. A Blob is the body of a response that
   * is returned in the same turn of the event loop, and is good for nothing else.
   */
  readonly send?: (key: string, start: number, end: number) => Promise<FileBytes | undefined>;
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
  /** Rejects with `OtherStore` when the storage belongs to another store, where no lock prevents that. */
  claim?(): Promise<void>;
  /** Uploads that arrive in several requests. */
  readonly partial: PartialUploads;
  /** Returns a URL that reads the file without credentials for a while, where the storage has such URLs. */
  link?(key: string, options: LinkOptions): Promise<string>;
  /** Returns why files cannot be read or saved now, or undefined. Without it, they are where the store is. */
  ready?(): Promise<string | undefined>;
}

/** The answer to a request for a link, and how long the link is valid. */
export interface LinkOptions {
  readonly expiresInSeconds: number;
  readonly type: string;
  readonly disposition: string;
  readonly cacheControl: string;
}

/**
 * Uploads that are not complete. Several processes may use one at the same time: an append of one
 * process ends what another process is appending. An id has 32 hex digits and is never used again.
 */
export interface PartialUploads {
  /** Creates an upload without bytes. Resolves when it is on disk. */
  create(id: string, description: string): Promise<void>;
  /** Replaces the description of an upload, if there is one. */
  describe(id: string, description: string): Promise<void>;
  /**
   * Ends an append in progress, whose bytes so far are kept, so that the size is final. An unfinished upload
   * whose description is not allowed is not found, and goes on.
   */
  find(id: string, isAllowed?: IsAllowed): Promise<PartialUpload | undefined>;
  /**
   * Ends an append in progress, and appends bytes at `offset`. Resolves with the new size when they are on
   * disk. When the source fails, what has arrived is kept, and the error is thrown. When `isValid` returns
   * false after the last byte, nothing of this append is kept.
   */
  append(
    id: string,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    isValid?: () => boolean,
  ): Promise<number | NotAppended>;
  /**
   * Returns all bytes, or undefined when there is no such upload. Reading them throws `UploadEnded` when
   * another process finishes or removes the upload.
   */
  open(id: string): Promise<OpenedFile | undefined>;
  /**
   * Decides how an upload ends, once for all processes; nothing is appended afterwards. It is completed
   * only while it has `size` bytes, and ends an append in progress when it is cancelled. Resolves with
   * whether it ends in this way.
   */
  end(id: string, how: UploadEnd, size?: number): Promise<boolean>;
  /** Takes back that the upload was completed. */
  reopen(id: string): Promise<void>;
  /** Removes the bytes, and stores this description of the finished upload for `find`. */
  finish(id: string, description: string): Promise<void>;
  /** Ignores uploads that do not exist. */
  remove(id: string): Promise<void>;
  /** Yields every upload that is not finished, and ends no append. */
  list(): AsyncIterable<PartialUpload & { readonly id: string }>;
  /**
   * Removes what has not changed for so long, and at any age what a killed process has left of an upload
   * that is finished or cancelled. Resolves with the number of unfinished uploads removed.
   */
  sweep(unfinishedMs: number, finishedMs: number): Promise<number>;
}

/** Whether an upload with this description may be found. */
export type IsAllowed = (description: string) => boolean;

export interface PartialUpload {
  readonly description: string;
  /** 0 when the upload is finished. */
  readonly size: number;
  /** How many appends it consists of. */
  readonly pieces: number;
  readonly changedAt: number;
  readonly isFinished: boolean;
}

/**
 * `missing`: there is no such upload; `mismatch`: it has another size; `invalid`: the bytes are not
 * valid; `superseded`: a later request has ended this append.
 */
export type NotAppended = "missing" | "mismatch" | "invalid" | "superseded";

export type UploadEnd = "completed" | "cancelled";

/** Another request has completed or cancelled the upload. */
export class UploadEnded extends Error {}

export type FindReferenced = (keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** A response body. */
export type FileBytes = ReadableStream<Uint8Array> | Blob;

export interface OpenedFile {
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A file that was opened and not read is never closed, and Bun ends a process that loses an open file. */
export async function* bytesOf(
  open: () => Promise<OpenedFile | undefined>,
): AsyncGenerator<Uint8Array> {
  const opened = await open();
  if (opened === undefined) throw new MissingFile();
  yield* opened.bytes;
}

export class MissingFile extends Error {}

export interface SavedFile {
  readonly key: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}
