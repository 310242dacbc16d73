// Counts the rows and blocks that each statement of a store reads, by the plans that the server reports.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { TestDatabase } from "./test-databases.ts";

/** What one statement has read. */
export interface Read {
  readonly text: string;
  /** Rows of tables and indexes, those that a filter removed too. */
  readonly rows: number;
  /** Blocks of tables and indexes: entries that an index scan skips are only seen here. */
  readonly blocks: number;
}

interface PlanNode {
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Each statement is reported to the client that sent it, before the end of its transaction is. */
const settings = {
  session_preload_libraries: "auto_explain",
  client_min_messages: "notice",
  "auto_explain.log_level": "notice",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_buffers": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_format": "json",
} as const;

/** Stands between a store and its database, and reads the reports. */
export class Reads {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** For the store. */
  readonly url: string;
  #found: Read[] = [];

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** The server must be of this test alone, or the database. */
  static async of({ url, admin }: TestDatabase): Promise<Reads> {
    const { hostname, port, pathname } = new URL(url);
    await admin(async (sql) => {
      for (const [name, value] of Object.entries(settings))
        await sql.unsafe(`ALTER DATABASE ${pathname.slice(1)} SET ${name} = '${value}'`);
    });
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const own = new URL(url);
    own.port = String((server.address() as AddressInfo).port);
    const reads = new Reads(server, own.href);
    server.on("connection", (client) => reads.#join(client, connect(Number(port), hostname)));
    return reads;
  }

  /** What the statements read that end until the work is done. */
  async during(work: () => Promise<unknown>): Promise<readonly Read[]> {
    const found: Read[] = [];
    this.#found = found;
    await work();
    this.#found = [];
    return found;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket, database: Socket): void {
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay().on("error", () => undefined);
      from.on("close", () => to.destroy());
    }
    const messages = new Messages((plan) => this.#found.push(readOf(plan)));
    client.on("data", (bytes) => database.write(bytes));
    database.on("data", (bytes: Buffer) => {
      messages.add(bytes);
      client.write(bytes);
    });
  }
}

/** The messages of a database: a letter, a length, and content. */
class Messages {
  readonly #onPlan: (plan: string) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onPlan: (plan: string) => void) {
    this.#onPlan = onPlan;
  }

  add(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes]);
    for (; rest.length >= 5; ) {
      const size = 1 + rest.readInt32BE(1);
      if (rest.length < size) break;
      if (rest[0] === noticeLetter) this.#read(rest.toString("utf8", 5, size));
      rest = rest.subarray(size);
    }
    this.#rest = rest;
  }

  #read(fields: string): void {
    const text = fields.split("\0").find((field) => field.startsWith("Mduration: "));
    if (text !== undefined) this.#onPlan(text.slice(text.indexOf("{")));
  }
}

const noticeLetter = "N".charCodeAt(0);

function readOf(report: string): Read {
  const { "Query Text": text, Plan: plan } = JSON.parse(report);
  return {
    text: text.trim().replace(/\s+/g, " "),
    rows: rowsOf(plan),
    blocks: (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
  };
}

function rowsOf(node: PlanNode): number {
  const isScan = node["Relation Name"] !== undefined || node["Index Name"] !== undefined;
  const { Plans = [] } = node;
  const perLoop =
    (node["Actual Rows"] ?? 0) +
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  const own = isScan ? perLoop * (node["Actual Loops"] ?? 0) : 0;
  return Plans.reduce((sum, child) => sum + rowsOf(child), own);
}
