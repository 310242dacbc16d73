// A server whose database fails with any error at any statement: every answer is right, or says that it is an outage.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { FailingStatements } from "../store/postgres/failing-statements.ts";
import { startApp, type TestApp } from "./app.ts";
import { concurrently } from "./client.ts";

const server = PostgresServer.shared();
after(async () => (await server).close());

const definition = {
  ...{ unique: ["of"], indexed: ["n"], searchable: ["of"] },
  references: { owner: { collection: "owners" } },
};

/** One of the requests of a client, and the statuses that it may have. */
interface Step {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
  readonly expected: readonly number[];
}

class Requests {
  readonly #app: TestApp;
  /** Of the writes that were acknowledged. */
  readonly keys: string[] = [];

  constructor(app: TestApp) {
    this.#app = app;
  }

  async run(name: string, isOver: () => boolean): Promise<void> {
    for (let number = 0; !isOver(); number++) {
      const key = `${name}-${number}`;
      const post = { method: "POST", path: "/things", body: { of: key, n: number, owner: "one" } };
      const made = await this.#repeat({ ...post, key, expected: [201] });
      this.keys.push(key);
      const path = `/things/${JSON.parse(made).id}`;
      const get = (path: string) => this.#ask({ method: "GET", path, expected: [200] });
      await get(path);
      for (const query of ["?sort=-n", `?q=${key}`, `?of=${key}`, "?aggregate=sum(n)", "?since=0"])
        await get(`/things${query}`);
      await this.#ask({ method: "PATCH", path, body: { n: -1 }, expected: [200] });
      const operations = ["a", "b"].map((id) => ({
        method: "PUT",
        path: `/pairs/${id}`,
        body: { key },
      }));
      const batch = { method: "POST", path: "/-/batch", body: { operations } };
      await this.#repeat({ ...batch, key: `batch-${key}`, expected: [200] });
    }
  }

  /** Tries again under the same key until it is done, and returns the body. */
  async #repeat(step: Step): Promise<string> {
    for (;;) {
      const done = await this.#ask(step);
      if (done !== undefined) return done;
      await sleep(5);
    }
  }

  /** Returns undefined after an outage, which must be reported as one. */
  async #ask({ method, path, body, key, expected }: Step): Promise<string | undefined> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    // Not by the app, which would read the OpenAPI document from this database.
    const response = await fetch(`${this.#app.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#app.admin}`,
        ...(body && { "content-type": type }),
        ...(key !== undefined && { "idempotency-key": key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (expected.includes(response.status)) return text;
    const isFull = response.status === 507 && method !== "GET";
    assert.ok(isFull || response.status === 503, `${method} ${path}: ${response.status} ${text}`);
    if (!isFull) assert.ok(response.headers.has("retry-after"), text);
    assert.doesNotMatch(text, /injected|forged|SELECT|127\.0\.0\.1/);
    return undefined;
  }
}

async function playRound(random: () => number): Promise<void> {
  const url = await (await server).preparedDatabase();
  await (await server).admin((sql) => FailingStatements.prepare(sql), url);
  using database = new FailingStatements(url, random);
  const app = await startApp({ store: await database.listen() });
  const put = (path: string, body: object) =>
    app.request(path, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  await put("/owners/one", {});
  await put("/pairs/a", {});
  assert.equal((await put("/-/collections/things", definition)).status, 201);
  const requests = new Requests(app);
  let isOver = false;
  const loops = concurrently(3, (lane) => requests.run(`l${lane}`, () => isOver));
  while (database.failed < runs(40, 100)) {
    database.rate = random() ** 2 * 0.3;
    assert.ok([200, 503].includes((await fetch(`${app.url}/-/ready`)).status));
    await sleep(20);
  }
  database.rate = 0;
  isOver = true;
  await loops;
  assert.equal((await app.request("/-/ready")).status, 200);
  const list = await app.request("/things?limit=1000");
  const { data, total } = (await list.json()) as { data: { of: string }[]; total: number };
  assert.equal(total, data.length);
  assert.deepEqual(data.map(({ of }) => of).toSorted(), requests.keys.toSorted());
  const pairs = await (await app.request("/pairs")).json();
  const [one, other] = (pairs as { data: { key: string }[] }).data;
  assert.equal(one?.key, other?.key);
  await app.stop();
  await (await server).drop(url);
}

describe("a server whose database fails at any statement", () => {
  it("answers, or says that it cannot, and does nothing twice", async () => {
    const random = randomNumbers(newSeed("database errors"));
    for (let round = 0; round < runs(1, 40); round++) await playRound(random);
  });
});
