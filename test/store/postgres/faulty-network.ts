// A network between stores and their server, which is slow and, when it is told to, fails at any byte.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

type FaultKind = "reset" | "end" | "silence" | "pause";
const allKinds: readonly FaultKind[] = ["reset", "end", "silence", "pause"];

/** What happens to a connection when so many bytes have gone one way. */
interface Fault {
  readonly kind: FaultKind;
  readonly isFromClient: boolean;
  readonly bytes: number;
  readonly pauseMs: number;
}

/** What happens to new connections: `swallow` accepts them and delivers nothing. */
type Accept = "open" | "reset" | "end" | "swallow";

/** A server notices after some time that a client has left, however silent the network is. */
const noticeMs = 500;

const never = new Promise<void>(() => undefined);

/** Each side ends by itself, and pieces are sent as they are. */
const options = { allowHalfOpen: true, noDelay: true };

export class FaultyNetwork {
  readonly #server = createServer(options, (socket) => this.#connect(socket));
  readonly #target: URL;
  readonly #random: () => number;
  readonly #kinds: readonly FaultKind[];
  readonly #links = new Set<Link>();
  /** The connections of the clients. */
  readonly open = new Set<Socket>();
  /** How many there have been. */
  accepted = 0;
  #isFaulty = false;
  #accepting: Accept = "open";

  constructor(target: string, random: () => number, kinds = allKinds) {
    this.#target = new URL(target);
    this.#random = random;
    this.#kinds = kinds;
  }

  /** Returns the URL of the database behind this network. */
  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    const url = new URL(this.#target);
    url.port = this.port;
    return url.href;
  }

  get port(): string {
    return String((this.#server.address() as AddressInfo).port);
  }

  /** From now on connections fail, also those that are open. */
  fail(): void {
    this.#isFaulty = true;
    for (const link of this.#links) link.fault = this.#drawFault();
  }

  /** Fails for some time in ways that are drawn again and again. */
  async failFor(ms: number): Promise<void> {
    const end = performance.now() + ms;
    this.fail();
    while (performance.now() < end) {
      this.#accepting = this.#drawAccepting();
      if (this.#random() < 0.2)
        this.silence(this.#random() < 0.5 && this.#canBeSilent() ? never : sleep(200));
      await sleep(this.#random() * 100);
    }
  }

  /** No open connection delivers anything until then. */
  silence(end: Promise<void> = never): void {
    for (const link of this.#links) link.silence(end);
  }

  /** Ends all open connections. */
  reset(): void {
    for (const link of this.#links) link.reset();
  }

  setAccepting(kind: Accept): void {
    this.#accepting = kind;
  }

  /** From now on nothing fails. What was silent for ever stays so. */
  heal(): void {
    this.#isFaulty = false;
    this.#accepting = "open";
    for (const link of this.#links) link.heal();
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const link of this.#links) link.destroy();
    for (const client of this.open) client.destroy();
  }

  #connect(client: Socket): void {
    this.accepted++;
    this.open.add(client);
    client.on("close", () => this.open.delete(client)).on("error", () => undefined);
    if (this.#accepting === "reset") client.resetAndDestroy();
    else if (this.#accepting === "end") client.resume().end();
    else if (this.#accepting === "open") this.#link(client);
    else this.#swallow(client);
  }

  #swallow(client: Socket): void {
    client.resume().on("end", () => client.destroy());
  }

  #link(client: Socket): void {
    const port = Number(this.#target.port);
    const server = connect({ port, host: this.#target.hostname, ...options });
    const link = new Link(client, server, this.#random);
    if (this.#isFaulty) link.fault = this.#drawFault();
    this.#links.add(link);
    server.on("close", () => this.#links.delete(link));
  }

  #drawFault(): Fault | undefined {
    const random = this.#random;
    if (random() < 0.3) return undefined;
    return {
      kind: this.#kinds[Math.floor(random() * this.#kinds.length)] ?? "reset",
      isFromClient: random() < 0.5,
      // As often few as many: to open a connection takes some hundred.
      bytes: Math.floor(20_000 ** random()),
      pauseMs: random() * 500,
    };
  }

  #drawAccepting(): Accept {
    const kinds = ["swallow", "reset", "end"] as const;
    const [kind = "open"] = kinds.slice(this.#canBeSilent() ? 0 : 1).slice(this.#random() * 6);
    return kind;
  }

  #canBeSilent(): boolean {
    return this.#kinds.includes("silence");
  }
}

/** One connection, with a latency of its own, so that any can be in any state. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #random: () => number;
  readonly #latency: number;
  readonly #isSplit: boolean;
  fault: Fault | undefined;
  #silence: Promise<unknown> = Promise.resolve();
  #isSilent = false;

  constructor(client: Socket, server: Socket, random: () => number) {
    this.#client = client;
    this.#server = server;
    this.#random = random;
    this.#latency = random() ** 3 * 30;
    this.#isSplit = random() < 0.5;
    this.#forward(client, server);
    this.#forward(server, client);
    // After a reset there is no end.
    for (const event of ["end", "close"])
      client.on(event, () => setTimeout(() => this.#noticeEnd(), noticeMs));
  }

  silence(end: Promise<void>): void {
    this.#isSilent ||= end === never;
    this.#silence = Promise.all([this.#silence, end]);
  }

  heal(): void {
    this.fault = undefined;
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }

  #noticeEnd(): void {
    if (this.#isSilent) this.#server.destroy();
  }

  destroy(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #forward(from: Socket, to: Socket): void {
    let sent = Promise.resolve();
    const after = (act: () => unknown) => {
      sent = sent
        .then(() => sleep(this.#latency))
        .then(() => this.#silence)
        .then(act)
        .then();
    };
    let bytes = 0;
    const send = async (chunk: Buffer) => {
      for (const piece of this.#split(chunk)) {
        await this.#silence;
        const rest = this.#bytesLeft(from, bytes);
        bytes += piece.length;
        to.write(piece.subarray(0, rest));
        // So that the pieces do not arrive together.
        await sleep(1);
        if (piece.length < rest) continue;
        await this.#fail(to);
        to.write(piece.subarray(rest));
      }
    };
    from.on("data", (chunk: Buffer) => after(() => send(chunk)));
    from.on("end", () => after(() => to.end()));
    from.on("error", () => after(() => to.destroy()));
    from.on("close", () => after(() => to.end()));
  }

  #bytesLeft(from: Socket, bytes: number): number {
    if (this.fault?.isFromClient !== (from === this.#client)) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.fault.bytes - bytes);
  }

  async #fail(to: Socket): Promise<void> {
    const { kind, pauseMs } = this.fault ?? { kind: "pause", pauseMs: 0 };
    this.fault = undefined;
    if (kind === "reset") this.reset();
    else if (kind === "end") to.end();
    else this.silence(kind === "silence" ? never : sleep(pauseMs));
    await this.#silence;
  }

  #split(chunk: Buffer): readonly Buffer[] {
    if (!this.#isSplit || chunk.length < 2) return [chunk];
    const at = 1 + Math.floor(this.#random() * (chunk.length - 1));
    return [chunk.subarray(0, at), chunk.subarray(at)];
  }
}
