// What a connection needs of a socket, and how bytes are sent that the kernel does not take at once.

export interface Socket {
  /**
   * Returns how many bytes were taken; the rest is sent after the next drain. Negative when it is closed.
   * `byteLength` is that of the data in UTF-8.
   */
  write(data: string | Uint8Array, byteLength: number): number;
  /** Whether bytes that were taken wait in this process. A drain follows. */
  readonly isFull: boolean;
  /** Closes the sending side after all that was written. */
  shutdown(): void;
  /** Closes both sides. What was written is still sent. */
  close(): void;
  /** Closes both sides immediately. */
  terminate(): void;
  pause(): void;
  resume(): void;
  readonly remoteAddress: string;
}

/** Sends in order, and says when everything was taken. What a closed socket does not take waits for `abandon`. */
export class Output {
  readonly #socket: Socket;
  readonly #lost: () => void;
  readonly #waiting: Uint8Array[] = [];
  #isAbandoned = false;
  #drained: (() => void)[] = [];

  /** `lost` is called when the socket is found to be closed, which it may not say itself. */
  constructor(socket: Socket, lost: () => void) {
    this.#socket = socket;
    this.#lost = lost;
  }

  /** Whether bytes wait for the client to read. */
  get isBlocked(): boolean {
    return this.#waiting.length > 0 || this.#socket.isFull;
  }

  /** `byteLength` is that of the data in UTF-8. */
  write(data: string | Uint8Array, byteLength: number): void {
    if (this.#isAbandoned) return;
    const written = this.isBlocked ? 0 : this.#socket.write(data, byteLength);
    if (written >= byteLength) return;
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    this.#waiting.push(bytes.subarray(Math.max(0, written)));
    if (written < 0) this.#lost();
  }

  /** The socket takes bytes again. */
  drain(): void {
    for (;;) {
      if (this.#socket.isFull) return;
      const [bytes] = this.#waiting;
      if (bytes === undefined) break;
      const written = this.#socket.write(bytes, bytes.byteLength);
      if (written < bytes.byteLength) {
        this.#waiting[0] = bytes.subarray(Math.max(0, written));
        if (written < 0) this.#lost();
        return;
      }
      this.#waiting.shift();
    }
    this.#release();
  }

  /** Nothing more is sent. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#waiting.length = 0;
    this.#release();
  }

  #release(): void {
    const drained = this.#drained;
    this.#drained = [];
    for (const call of drained) call();
  }

  /** Calls back when everything was taken, immediately when that is so. */
  whenDrained(call: () => void): void {
    if (this.isBlocked) this.#drained.push(call);
    else call();
  }

  drained(): Promise<void> {
    return new Promise((resolve) => this.whenDrained(resolve));
  }
}
