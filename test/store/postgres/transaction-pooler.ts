// A pooler between stores and their server that gives a session to another client after each transaction.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { readMessages } from "./messages.ts";

/** Which of the idle sessions is used next: the one that was used last, or that nobody has used for longest. */
export type Order = "last" | "oldest";

interface Session {
  readonly socket: Socket;
  /** Who has it now. */
  client: Socket | undefined;
  /** How many answers are to come. */
  waiting: number;
}

const code = (letter: string): number => letter.charCodeAt(0);
const readyForQuery = code("Z");
const notInTransaction = code("I");
const terminate = code("X");
/** Sync and Query: the server says after each that it is ready. */
const isAnswered = new Set([code("S"), code("Q")]);

export class TransactionPooler {
  readonly #server = createServer((client) => this.#serve(client));
  readonly #target: URL;
  readonly #order: Order;
  readonly #idle: Session[] = [];
  readonly #sessions = new Map<Socket, Session>();
  readonly #sockets = new Set<Socket>();

  constructor(target: string, order: Order) {
    this.#target = new URL(target);
    this.#order = order;
  }

  /** Returns the URL of the database behind this pooler. */
  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(client: Socket): void {
    this.#sockets.add(client);
    readMessages(
      client,
      (message, isFirst) => {
        if (!isFirst && message[0] === terminate) return void client.end();
        const session = this.#sessions.get(client) ?? (isFirst ? this.#open() : this.#take());
        session.client = client;
        this.#sessions.set(client, session);
        if (isFirst || isAnswered.has(message[0] ?? 0)) session.waiting++;
        session.socket.write(message);
      },
      true,
    );
  }

  /** As many sessions as there have been clients, so that one is idle when a client needs it. */
  #take(): Session {
    const session = this.#order === "last" ? this.#idle.pop() : this.#idle.shift();
    if (session === undefined) throw new Error("no session is idle");
    return session;
  }

  #open(): Session {
    const socket = connect(Number(this.#target.port), this.#target.hostname);
    this.#sockets.add(socket);
    const session: Session = { socket, client: undefined, waiting: 0 };
    let isNew = true;
    readMessages(socket, (message) => {
      const { client } = session;
      client?.write(message);
      if (message[0] !== readyForQuery || --session.waiting > 0) return;
      if (message.at(-1) !== notInTransaction || client === undefined) return;
      this.#sessions.delete(client);
      session.client = undefined;
      // A new session was used last by nobody.
      if (isNew && this.#order === "last") this.#idle.unshift(session);
      else this.#idle.push(session);
      isNew = false;
    });
    return session;
  }
}
