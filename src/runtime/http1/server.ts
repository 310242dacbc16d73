// The connections of one HTTP/1.1 server: their clock, and how they end.

import { afterReading } from "../../lib/turns.ts";
import type { Serving } from "./active-request.ts";
import { HttpConnection } from "./connection.ts";
import type { Socket } from "./socket.ts";

const tickMs = 1_000;

export type Http1Options = Omit<Serving, "isStopping" | "now">;

export class Http1Server {
  readonly #serving: Serving;
  readonly #connections = new Set<HttpConnection>();
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #whenEmpty: (() => void)[] = [];
  #tickedAt = performance.now();

  constructor(options: Http1Options) {
    this.#serving = { ...options, isStopping: false, now: 0 };
    this.#timer = setInterval(() => afterReading(() => this.#tick()), tickMs);
    this.#timer.unref();
  }

  /** The time in which this process was held up is not that of its clients. */
  #tick(): void {
    const at = performance.now();
    this.#serving.now += Math.min(at - this.#tickedAt, tickMs);
    this.#tickedAt = at;
    for (const connection of this.#connections) connection.checkTime();
  }

  open(socket: Socket): HttpConnection {
    const connection = new HttpConnection(socket, this.#serving);
    this.#connections.add(connection);
    return connection;
  }

  closed(connection: HttpConnection): void {
    this.#connections.delete(connection);
    connection.close();
    if (this.#connections.size === 0) for (const call of this.#whenEmpty.splice(0)) call();
  }

  /** Waits at most this long for requests in progress, then closes all connections. */
  async stop(graceMs: number): Promise<void> {
    this.#serving.isStopping = true;
    for (const connection of this.#connections) connection.finish();
    const force = setTimeout(() => {
      for (const connection of this.#connections) connection.destroy();
    }, graceMs);
    if (this.#connections.size > 0)
      await new Promise<void>((resolve) => {
        this.#whenEmpty.push(resolve);
      });
    clearTimeout(force);
    clearInterval(this.#timer);
  }
}
