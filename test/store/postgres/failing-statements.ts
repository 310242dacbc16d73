// Stands between stores and their server, and lets statements fail with errors that a server can have.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Sql } from "postgres";
import { readMessages } from "./messages.ts";

/** The disk is full, no memory, cancelled, locked, conflicts, read-only, failed, an I/O error. */
const errors = [
  ...["53100", "53200", "53400", "57014", "55P03", "40001", "40P01", "25006", "XX000", "58030"],
];
/** Those that end the session: stopped, crashed, starting, idle in a transaction, no memory, a conflict. */
const ends = ["57P01", "57P02", "57P03", "25P03", "53200", "40001"];
/** Those of a new session: too many, starting, not allowed, no memory. */
const refusals = ["53300", "57P03", "28000", "53200"];

const text = (words: string): Buffer => Buffer.from(`${words}\0`);

function message(kind: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const head = Buffer.alloc(5, kind);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

const fatal = (code: string): Buffer =>
  message("E", text("SFATAL"), text("VFATAL"), text(`C${code}`), text("Mforged"), Buffer.of(0));

/** The words that end with a zero byte. */
const wordsAt = (bytes: Buffer, start: number): string =>
  bytes.toString("utf8", start, bytes.indexOf(0, start));

export class FailingStatements {
  readonly #server = createServer({ noDelay: true }, (client) => this.#serve(client));
  readonly #target: URL;
  readonly #random: () => number;
  readonly #clients = new Set<Socket>();
  /** The share of statements and new sessions that fail. */
  rate = 0;
  /** How many have failed. */
  failed = 0;

  constructor(target: string, random: () => number) {
    this.#target = new URL(target);
    this.#random = random;
  }

  /** Makes what the database needs for it. */
  static prepare(sql: Sql): Promise<unknown> {
    return sql.unsafe(`
      CREATE FUNCTION public.fail(code text) RETURNS void LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = code; END $$`);
  }

  /** Returns the URL of the database behind it. */
  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const client of this.#clients) client.destroy();
  }

  #draw(codes: readonly string[]): string {
    return codes[Math.floor(this.#random() * codes.length)] ?? "";
  }

  #isFailing(): boolean {
    const isFailing = this.#random() < this.rate;
    if (isFailing) this.failed++;
    return isFailing;
  }

  #serve(client: Socket): void {
    this.#clients.add(client);
    const server = connect(Number(this.#target.port), this.#target.hostname);
    client.on("close", () => server.destroy() && this.#clients.delete(client));
    server.on("error", () => undefined).on("close", () => client.end());
    server.pipe(client, { end: false });
    const statements = new Map<string, string>();
    const end = (code: string) => {
      server.unpipe(client).destroy();
      client.end(fatal(code));
    };
    const isRefused = this.#isFailing();
    readMessages(
      client,
      (received, isFirst) => {
        if (server.destroyed) return;
        if (isFirst && isRefused) return end(this.#draw(refusals));
        const kind = isFirst ? "" : String.fromCharCode(received[0] ?? 0);
        if (kind === "P") {
          const name = wordsAt(received, 5);
          statements.set(name, wordsAt(received, 6 + Buffer.byteLength(name)));
        }
        if (kind !== "B" || !this.#isFailing()) return void server.write(received);
        const portal = wordsAt(received, 5);
        const statement = statements.get(wordsAt(received, 6 + Buffer.byteLength(portal))) ?? "";
        // A server that fails to end a transaction has ended it.
        if (/^\s*(?:COMMIT|ROLLBACK)/.test(statement) || this.#random() < 0.3)
          return end(this.#draw(ends));
        server.write(failing(this.#draw(errors), ++this.#statement));
      },
      true,
    );
  }

  #statement = 0;
}

/** Prepares a statement that fails, and binds it in place of another one. */
const failing = (code: string, number: number): Buffer =>
  Buffer.concat([
    message("P", text(`fail${number}`), text(`SELECT public.fail('${code}')`), Buffer.alloc(2)),
    message("B", text(""), text(`fail${number}`), Buffer.alloc(6)),
  ]);
