// Clocks that jump, and nodes with different clocks: no stale 304, no lost update, no time that goes back.
// @tier all

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { PostgresServer } from "../postgres-server.ts";
import { newSeed, randomNumbers, runs, within } from "../seeds.ts";
import { itLong } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { answerOf } from "./expect.ts";

const realNow = Date.now;
after(() => {
  Date.now = realNow;
});

/** A state as a client has seen it. */
interface Seen {
  readonly n: number;
  readonly etag: string;
  readonly lastModified: string;
}

/** The steps of a clock in milliseconds: within a second, over it, and far both ways. */
const steps = [0, 1, 40, 400, 999, 1_000, 5_000, 3_600_000, -1, -400, -1_000, -5_000, -3_600_000];

class Run {
  readonly #apps: readonly TestApp[];
  readonly #token: string;
  readonly #path: string;
  readonly #random: () => number;
  readonly #clocks: number[];
  readonly #seen: Seen[] = [];
  #n = 0;
  #updatedAt = "";

  constructor(apps: readonly TestApp[], path: string, random: () => number) {
    this.#apps = apps;
    this.#token = apps[0]?.admin ?? "";
    this.#path = path;
    this.#random = random;
    this.#clocks = apps.map(() => realNow());
  }

  async steps(count: number): Promise<void> {
    await this.#put({});
    for (let step = 0; step < count; step++) {
      const seen = this.#pick(this.#seen);
      const operation = this.#random();
      if (operation < 0.25) await this.#put({});
      else if (operation < 0.4 && seen)
        await this.#putOver(seen, { "if-unmodified-since": seen.lastModified });
      else if (operation < 0.5 && seen) await this.#putOver(seen, { "if-match": seen.etag });
      else if (operation < 0.55) await this.#recreate();
      else if (operation < 0.75 && seen)
        await this.#get({ "if-modified-since": seen.lastModified }, seen);
      else if (operation < 0.85 && seen) await this.#get({ "if-none-match": seen.etag }, seen);
      else await this.#get({}, undefined);
    }
  }

  #pick<T>(all: readonly T[]): T | undefined {
    // What was seen last is requested most often.
    return all.at(-1 - Math.floor(this.#random() ** 3 * all.length));
  }

  /** A request to one of the nodes, by its clock. */
  async #ask(method: string, headers: Record<string, string>, body?: unknown) {
    const node = Math.floor(this.#random() * this.#apps.length);
    const app = this.#apps[node];
    assert.ok(app);
    const now = (this.#clocks[node] ?? 0) + (this.#pick(steps) ?? 0);
    this.#clocks[node] = now;
    Date.now = () => now;
    try {
      const json = body === undefined ? {} : { "content-type": "application/json" };
      const answer = await answerOf(
        app.request(this.#path, {
          method,
          token: this.#token,
          headers: { ...headers, ...json },
          body: body === undefined ? null : JSON.stringify(body),
        }),
      );
      const lastModified = answer.headers.get("last-modified");
      if (lastModified !== null) assert.ok(Date.parse(lastModified) <= now, "not later than Date");
      return answer;
    } finally {
      Date.now = realNow;
    }
  }

  async #put(headers: Record<string, string>): Promise<boolean> {
    const { status, body } = await this.#ask("PUT", headers, { n: this.#n + 1 });
    if (status === 412) return false;
    assert.ok(status === 200 || status === 201, body);
    this.#n++;
    this.#assertNotBack(JSON.parse(body).updatedAt);
    return true;
  }

  async #putOver(seen: Seen, condition: Record<string, string>): Promise<void> {
    const before = this.#n;
    const isDone = await this.#put(condition);
    if (isDone) assert.equal(seen.n, before, `a lost update by ${JSON.stringify(condition)}`);
  }

  async #recreate(): Promise<void> {
    assert.equal((await this.#ask("DELETE", {})).status, 204);
    await this.#put({});
  }

  async #get(headers: Record<string, string>, seen: Seen | undefined): Promise<void> {
    const answer = await this.#ask("GET", headers);
    if (answer.status === 304) {
      assert.equal(seen?.n, this.#n, `a stale 304 by ${JSON.stringify(headers)}`);
      return;
    }
    assert.equal(answer.status, 200, answer.body);
    const { n, updatedAt } = JSON.parse(answer.body);
    assert.equal(n, this.#n);
    this.#assertNotBack(updatedAt);
    if ("if-none-match" in headers) assert.notEqual(seen?.n, n);
    const etag = answer.headers.get("etag") ?? "";
    this.#seen.push({ n, etag, lastModified: answer.headers.get("last-modified") ?? "" });
  }

  #assertNotBack(updatedAt: string): void {
    assert.ok(updatedAt >= this.#updatedAt, `${updatedAt} < ${this.#updatedAt}`);
    this.#updatedAt = updatedAt;
  }
}

async function runAll(apps: readonly TestApp[], name: string): Promise<void> {
  const seed = newSeed(name);
  const random = randomNumbers(seed);
  for (let run = 0; run < runs(2, 200); run++)
    await new Run(apps, `/clocked/r${run}`, random).steps(60);
}

describe("a clock that jumps", () => {
  itLong("the embedded engine", within(600_000), async () => {
    const app = await startApp();
    try {
      await runAll([app], "clocks on the embedded engine");
    } finally {
      await app.stop();
    }
  });

  it("two nodes on Postgres with different clocks", within(600_000), async () => {
    const server = await PostgresServer.shared();
    const store = await server.preparedDatabase();
    const apps = [await startApp({ store }), await startApp({ store })];
    try {
      await runAll(apps, "clocks of two nodes");
    } finally {
      for (const app of apps) await app.stop();
      await server.close();
    }
  });
});
