// Sends requests over many connections, each after the response to the one before.

import { connect, type Socket } from "node:net";
import { Latencies, type Summary } from "./latencies.ts";

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly ms: number;
  /** The bytes of the next request. */
  readonly next: () => string;
  readonly status: number;
  /** Gets the head of each response. */
  readonly onResponse: (head: string) => void;
}

export async function load(options: LoadOptions): Promise<Summary> {
  const latencies = new Latencies();
  const end = performance.now() + options.ms;
  const { promise: failure, reject } = Promise.withResolvers<never>();
  const all = Array.from({ length: options.connections }, () =>
    run(options, end, latencies).catch(reject),
  );
  await Promise.race([Promise.all(all), failure]);
  return latencies.summary();
}

async function run(options: LoadOptions, end: number, latencies: Latencies): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(options.port, "127.0.0.1").setNoDelay(true);
  const reader = new ResponseReader(options.status);
  let startedAt = 0;
  const send = () => {
    startedAt = performance.now();
    socket.write(options.next());
  };
  socket.on("connect", send).on("error", reject);
  socket.on("close", () => reject(new Error("the server closed a connection")));
  socket.on("data", (bytes: Buffer) => {
    try {
      const head = reader.add(bytes);
      if (head === undefined) return;
      latencies.add(performance.now() - startedAt);
      options.onResponse(head);
      if (performance.now() < end) send();
      else resolve();
    } catch (error) {
      reject(error);
    }
  });
  await promise.finally(() => close(socket));
}

const close = (socket: Socket): void => {
  socket.removeAllListeners("close").destroy();
};

/** Reads responses that have a Content-Length. */
class ResponseReader {
  readonly #status: number;
  #head = "";
  #missing = 0;

  constructor(status: number) {
    this.#status = status;
  }

  /** Returns the head of a response that is complete. */
  add(bytes: Buffer): string | undefined {
    if (this.#missing > 0) this.#missing -= bytes.length;
    else if (!this.#readHead(bytes)) return undefined;
    if (this.#missing > 0) return undefined;
    const head = this.#head;
    this.#head = "";
    return head;
  }

  #readHead(bytes: Buffer): boolean {
    const text = this.#head + bytes.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    this.#head = end < 0 ? text : text.slice(0, end);
    if (end < 0) return false;
    if (Number(this.#head.slice(9, 12)) !== this.#status)
      throw new Error(`the server responds with ${text}`);
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1] ?? "0";
    this.#missing = Number(length) - (text.length - end - 4);
    return true;
  }
}
