// A server whose database is behind a network that fails: every answer is right, or 503, and a key makes one resource.
// @tier all

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { FaultyNetwork } from "../store/postgres/faulty-network.ts";
import { startApp, type TestApp } from "./app.ts";

const server = PostgresServer.shared();
after(async () => (await server).close());

/** Requests of a client, one after another. */
class Client {
  readonly #app: TestApp;
  readonly #name: string;
  readonly #random: () => number;
  /** Those of the resources that were made. */
  readonly keys: string[] = [];

  constructor(app: TestApp, name: string, random: () => number) {
    this.#app = app;
    this.#name = name;
    this.#random = random;
  }

  async run(isOver: () => boolean): Promise<void> {
    for (let number = 0; !isOver(); number++) {
      const id = await this.#create(`${this.#name}-${number}`);
      await this.#ask("GET", `/things/${id}`, 200);
      const query = this.#random() < 0.5 ? "" : "?of=x&sort=-of";
      await this.#ask("GET", `/things${query}`, 200);
      await this.#ask("PATCH", `/things/${id}`, 200, { seen: number });
    }
  }

  /** Tries again under the same key until it is done. */
  async #create(key: string): Promise<string> {
    for (;;) {
      const response = await this.#ask("POST", "/things", 201, { of: key }, key);
      if (response) {
        this.keys.push(key);
        return ((await response.json()) as { readonly id: string }).id;
      }
      await sleep(20);
    }
  }

  /** Returns undefined after an outage, which must be reported as one. */
  async #ask(
    method: string,
    path: string,
    expected: number,
    body?: object,
    key?: string,
  ): Promise<Response | undefined> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const response = await this.#app.request(path, {
      method,
      headers: {
        ...(body ? { "content-type": type } : {}),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (response.status === expected) return response;
    const text = await response.text();
    assert.equal(response.status, 503, `${method} ${path}: ${response.status} ${text}`);
    assert.ok(response.headers.has("retry-after"), text);
    assert.match(response.headers.get("content-type") ?? "", /^application\/problem\+json/);
    assert.equal(JSON.parse(text).status, 503);
    return undefined;
  }
}

async function playRound(random: () => number, isSilent: boolean): Promise<void> {
  const url = await (await server).preparedDatabase();
  const kinds = ["reset", "end", "pause"] as const;
  using network = new FaultyNetwork(url, random, isSilent ? undefined : kinds);
  const app = await startApp({ store: await network.listen() });
  await app.post("things", { of: "first" });
  const clients = ["a", "b", "c"].map((name) => new Client(app, name, random));
  let isOver = false;
  const loops = Promise.all(clients.map((client) => client.run(() => isOver)));
  await network.failFor(500);
  network.heal();
  isOver = true;
  await loops;
  const keys = clients.flatMap((client) => client.keys);
  const list = await app.request("/things?limit=1000");
  const { data, total } = (await list.json()) as { data: { of: string }[]; total: number };
  assert.equal(total, data.length);
  assert.deepEqual(data.map(({ of }) => of).toSorted(), ["first", ...keys].toSorted());
  await app.stop();
  await (await server).drop(url);
}

describe("a server behind a network to its database that fails at any byte", () => {
  it("answers, or says 503, and does nothing twice", async () => {
    const random = randomNumbers(newSeed("database network"));
    for (let round = 0; round < runs(1, 60); round++) await playRound(random, round % 10 === 9);
  });
});
