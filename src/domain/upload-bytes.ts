// The bytes of a resumable upload. When they have been read, its end is decided.

import { type PartialUploads, UploadEnded } from "../store/partial-uploads.ts";

interface UploadSize {
  readonly id: string;
  readonly size: number;
}

export class UploadBytes {
  readonly #partial: PartialUploads;
  readonly #upload: UploadSize;
  /** Whether another request goes on with the upload, or has ended it. */
  isLost = false;

  constructor(partial: PartialUploads, upload: UploadSize) {
    this.#partial = partial;
    this.#upload = upload;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#readAll();
    } catch (error) {
      this.isLost = error instanceof UploadEnded;
      throw error;
    }
  }

  async *#readAll(): AsyncGenerator<Uint8Array> {
    const { id, size } = this.#upload;
    const opened = await this.#partial.open(id);
    if (opened?.size !== size) throw new UploadEnded();
    yield* opened.bytes;
    if (!(await this.#partial.end(id, "completed", size))) throw new UploadEnded();
  }
}
