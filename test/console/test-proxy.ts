// A proxy between a browser and a server that a test can cut or hold at a certain byte.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export class TestProxy {
  readonly #server = createServer((client) => this.#carry(client));
  readonly #clients = new Set<Socket>();
  #holdAt = Number.POSITIVE_INFINITY;
  #reached: (() => void) | undefined;
  /** The bytes that were sent to the server. */
  sent = 0;
  /** Where the server is. */
  port: number;

  constructor(port: number) {
    this.port = port;
  }

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves when this many more bytes were sent. Nothing more passes then, until `cut` or `release`. */
  holdAfter(bytes: number): Promise<void> {
    this.#holdAt = this.sent + bytes;
    return new Promise((resolve) => {
      this.#reached = resolve;
    });
  }

  release(): void {
    this.#holdAt = Number.POSITIVE_INFINITY;
    for (const client of this.#clients) client.resume();
  }

  /** Ends every connection, and lets new ones pass. */
  cut(): void {
    this.#holdAt = Number.POSITIVE_INFINITY;
    for (const client of this.#clients) client.resetAndDestroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #carry(client: Socket): void {
    const server = connect(this.port, "127.0.0.1");
    this.#clients.add(client);
    client.on("data", (bytes) => {
      this.sent += bytes.length;
      if (!server.write(bytes)) client.pause();
      if (this.sent < this.#holdAt) return;
      client.pause();
      this.#reached?.();
    });
    server.on("drain", () => this.sent < this.#holdAt && client.resume());
    server.on("data", (bytes) => client.write(bytes));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => {
        this.#clients.delete(client);
        other.destroy();
      });
    }
  }
}
