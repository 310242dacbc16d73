// The content of a request body between the connection that receives it and the application that reads it.

const smallBytes = 512;
const mergedBytes = 4_096;

export class RequestBody {
  /** Is called when the application has read what was received and can take more, or will read no more. */
  readonly #want: () => void;
  #chunks: Uint8Array[] = [];
  /** The last chunk, if it has room for more. */
  #merged: Uint8Array | undefined;
  #bytes = 0;
  #isComplete = false;
  #error: Error | undefined;
  /** Whether the application reads no more. */
  isDiscarded = false;
  #wake: (() => void) | undefined;

  constructor(want: () => void) {
    this.#want = want;
  }

  /** Whether all of it has arrived. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The bytes that are received and not read. */
  get waitingBytes(): number {
    return this.#bytes;
  }

  push(content: Uint8Array): void {
    if (this.isDiscarded || this.#error !== undefined) return;
    if (!this.#merge(content)) this.#chunks.push(content);
    this.#bytes += content.byteLength;
    this.#notify();
  }

  /** Copies small contents together: each chunk takes more memory than a few bytes. */
  #merge(content: Uint8Array): boolean {
    const last = this.#chunks.at(-1);
    if (last === undefined || content.byteLength > smallBytes) return false;
    const isMerged = last === this.#merged;
    if (!isMerged && last.byteLength > smallBytes) return false;
    const length = last.byteLength + content.byteLength;
    if (length > mergedBytes) return false;
    const all = isMerged ? last.buffer : new ArrayBuffer(mergedBytes);
    this.#merged = new Uint8Array(all, 0, length);
    if (!isMerged) this.#merged.set(last);
    this.#merged.set(content, last.byteLength);
    this.#chunks[this.#chunks.length - 1] = this.#merged;
    return true;
  }

  end(): void {
    this.#isComplete = true;
    this.#notify();
  }

  /** Unless all of it was received, reading fails from now on, and what was received is dropped. */
  fail(error: Error): void {
    if (this.#isComplete) return;
    this.#error = error;
    this.#drop();
    this.#notify();
  }

  #drop(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }

  /** The application reads no more; what arrives is dropped. */
  #discard(): void {
    this.isDiscarded = true;
    this.#drop();
    this.#notify();
    this.#want();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Returns the next content; undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error;
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#bytes -= chunk.byteLength;
        return chunk;
      }
      if (this.#isComplete || this.isDiscarded) return undefined;
      await this.#arrival();
    }
  }

  /** Resolves when more has arrived, or nothing more will. */
  #arrival(): Promise<void> {
    const arrival = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#want();
    return arrival;
  }

  /** Reads all of it. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    while (!this.#isComplete && this.#error === undefined) await this.#arrival();
    if (this.#error !== undefined) throw this.#error;
    return this.take();
  }

  /** Returns what was received and not read. */
  take(): Uint8Array<ArrayBuffer> {
    const [first, second] = this.#chunks;
    const all = first && !second ? first : Buffer.concat(this.#chunks);
    this.#drop();
    return all as Uint8Array<ArrayBuffer>;
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const chunk = await this.read();
          if (chunk === undefined) controller.close();
          else controller.enqueue(chunk);
        },
        cancel: () => this.#discard(),
      },
      { highWaterMark: 0 },
    );
  }
}
