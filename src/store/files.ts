// The contract of what keeps the bytes of files. A row names them only when they are on disk.

export interface Files {
  /**
   * Keeps all that comes, and resolves when it is on disk. Over `maxBytes`, aborted or failed, it leaves
   * nothing behind; then it rejects with what the source threw, or resolves with `too-large`.
   */
  keep(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<KeptFile | "too-large">;
  /** The bytes from `start` up to `end` and without it; undefined when there is no such file. */
  read(key: string, start: number, end: number): Promise<FileBytes | undefined>;
  /**
   * Makes files as young as if they had just come, so that no sweep takes them for forgotten. Rejects
   * with an Outage when one has been swept already.
   */
  renew(keys: readonly string[]): Promise<void>;
  /**
   * To be called after the commit that names the files, and before it is acknowledged: makes sure that
   * no sweep of another process took them meanwhile. Rejects with an Outage when one is gone.
   */
  confirm(keys: readonly string[]): Promise<void>;
  /** What is not there is no fault. */
  remove(keys: readonly string[]): Promise<void>;
  /**
   * Removes what nobody names and is older than this: left by a process that died. Says how many.
   * `named` tells which of some keys a resource names.
   */
  sweep(
    named: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
    olderThanMs: number,
  ): Promise<number>;
}

/** What can be the body of an answer. */
export type FileBytes = ReadableStream<Uint8Array> | Blob;

export interface KeptFile {
  readonly key: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}
