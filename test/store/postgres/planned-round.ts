// A server whose tables grow between rounds of operations.

import type { Connection, Sql } from "../../../src/store/postgres/connection.ts";
import { begin, rollback } from "../../../src/store/postgres/transaction.ts";
import { addTraces, partOf } from "./grown-rows.ts";
import { type PlannedApp, type Send, startPlannedApp } from "./planned-app.ts";
import type { TestDatabase } from "./test-databases.ts";

const string = { type: "string" };
export const things = {
  schema: {
    properties: {
      ...{ sku: string, city: string, title: string, maker: string, note: string, state: string },
      ...{ price: { type: "integer" }, photo: { type: "object" } },
    },
  },
  unique: ["sku"],
  indexed: ["city", ["city", "-price"], "price"],
  searchable: ["title"],
  references: { maker: { collection: "makers", onDelete: "unset" } },
  access: {
    read: [
      { name: "open", to: "token", where: { state: "open" } },
      { name: "own", to: "owner" },
    ],
  },
};
const definitions = { makers: {}, things, notes: { access: { read: "owner", update: "owner" } } };

/** A round of all operations, on resources of its own. */
export class Round {
  readonly app: PlannedApp;
  readonly send: Send;
  readonly database: TestDatabase;
  /** A letter that makes the names of a round. */
  tag = "";
  /** Sends requests of a caller who sees a part. */
  readerSend: Send;
  /** The part of the things. */
  part = 0;
  /** A token that a round makes. */
  token = { id: "", token: "" };
  readonly #positions = new Map<string, string>();

  private constructor(app: PlannedApp, database: TestDatabase) {
    this.app = app;
    this.send = app.send;
    this.readerSend = app.send;
    this.database = database;
  }

  static async start(url: string, database: TestDatabase): Promise<Round> {
    const round = new Round(await startPlannedApp(url, database.schema), database);
    const { app, send } = round;
    for (const [name, definition] of Object.entries(definitions))
      await send("PUT", `/-/collections/${name}`, definition);
    await send("PUT", "/makers/all", {});
    const reader = { name: "reader", subject: "reader", scopes: ["*:*"] };
    round.readerSend = app.as((await send("POST", "/-/tokens", reader)).token);
    round.part = await database.admin((sql) => partOf(sql, "things"));
    return round;
  }

  readonly list = (query: string) => this.send("GET", `/things?${query}`);

  /** Does what a server does in the background. */
  readonly work = <T>(act: (connection: Connection) => Promise<T>): Promise<T> =>
    act(this.app.background);

  /** Does something with the database that is undone. */
  readonly attempt = (act: (sql: Sql) => Promise<unknown>): Promise<void> =>
    this.work(async (connection) => {
      await connection.run(begin);
      await connection.run(act);
      await rollback(connection);
    });

  /** Reads on from the last position. */
  async follow(collection: string, send: Send = this.send): Promise<void> {
    const name = `${collection} ${send === this.send}`;
    for (let more = true; more; ) {
      const since = this.#positions.get(name) ?? "0";
      const page = await send("GET", `/${collection}?since=${since}&limit=500`);
      this.#positions.set(name, page.next);
      ({ more } = page);
    }
  }

  async followAll(): Promise<void> {
    await this.follow("things");
    await this.follow("things", this.readerSend);
    await this.follow("notes", this.readerSend);
  }

  /** An erasure ends all positions. */
  followAgain(): Promise<void> {
    this.#positions.clear();
    return this.followAll();
  }

  /** Adds rows through the API, and traces of rows that are gone. */
  async grow(from: number, to: number): Promise<void> {
    const some = Array.from({ length: to - from }, (_, at) => from + at);
    const post = (path: string, of: (n: number) => object) =>
      this.send("POST", path, some.map((n) => JSON.stringify(of(n))).join("\n"), ndjson);
    await post("/makers", () => ({}));
    await post("/notes", () => ({}));
    await post("/things", (n) => ({
      ...{
        sku: `s${n}`,
        city: `c${n % 50}`,
        price: n,
        title: `t${n}`,
        state: "open",
        maker: "all",
      },
    }));
    // More than a purge looks at in a step.
    await this.database.admin((sql) => addTraces(sql, 2 * from, 2 * to));
    await this.followAll();
  }
}

export const ndjsonType = "application/x-ndjson";
const ndjson = { "content-type": ndjsonType, prefer: "return=minimal" };
