// The pool for reads: which losses of a connection make it repeat a read, and how often.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outage } from "../../../src/model/outage.ts";
import { Connection, rows } from "../../../src/store/postgres/connection.ts";
import { Pool } from "../../../src/store/postgres/pool.ts";
import { newSeed, randomNumbers } from "../../seeds.ts";
import { FaultyNetwork } from "./faulty-network.ts";
import { TestDatabases } from "./test-databases.ts";

const databases = new TestDatabases("own");

interface Rig {
  readonly network: FaultyNetwork;
  /** Reads through a new pool, and calls `before` before each connection is opened. */
  read(before: (attempt: number) => void): Promise<unknown>;
  /** How many connections the last pool has opened, or tried to. */
  attempts(): number;
}

const withRig = (random: () => number, test: (rig: Rig) => Promise<void>): Promise<void> =>
  databases.in(async ({ url, schema }) => {
    using network = new FaultyNetwork(url, random, ["reset", "end"]);
    const there = await network.listen();
    let attempts = 0;
    const read = async (before: (attempt: number) => void) => {
      attempts = 0;
      const open = () => {
        before(++attempts);
        return Connection.open({ url: there, schema, deadlineMs: 10_000 });
      };
      const pool = new Pool(open, 2);
      try {
        return (await pool.read((sql) => rows(sql`SELECT 7`)))[0]?.[0];
      } finally {
        await pool.close();
      }
    };
    await test({ network, read, attempts: () => attempts });
  });

describe("a read that needs a new connection", () => {
  for (const how of ["reset", "end"] as const) {
    it(`is repeated after the first one was accepted and lost (${how})`, () =>
      withRig(
        () => 0,
        async ({ network, read, attempts }) => {
          assert.equal(await read((n) => network.setAccepting(n === 1 ? how : "open")), 7);
          assert.equal(attempts(), 2);
        },
      ));

    it(`fails when the second one is lost, too (${how})`, () =>
      withRig(
        () => 0,
        async ({ network, read, attempts }) => {
          await assert.rejects(
            read(() => network.setAccepting(how)),
            (error) => error instanceof Outage && error.reason === "unavailable",
          );
          assert.equal(attempts(), 2);
        },
      ));
  }

  it("is repeated wherever the first one is cut", () => {
    const seed = newSeed("reads on a new connection that is cut");
    return withRig(randomNumbers(seed), async ({ network, read, attempts }) => {
      let repeated = 0;
      for (let round = 0; round < 40; round++) {
        const before = (attempt: number) => (attempt === 1 ? network.fail() : network.heal());
        assert.equal(await read(before), 7, `seed ${seed}, round ${round}`);
        repeated += Number(attempts() > 1);
      }
      assert.ok(repeated > 0, "no connection was cut");
    });
  });

  it("is not repeated when the server refuses connections", async () => {
    let attempts = 0;
    const open = () => {
      attempts++;
      return Connection.open({ url: "postgres://a@127.0.0.1:1/a", schema: "a", deadlineMs: 1_000 });
    };
    const pool = new Pool(open, 2);
    await assert.rejects(
      pool.read((sql) => rows(sql`SELECT 7`)),
      (error) => error instanceof Outage && error.reason === "unavailable",
    );
    await pool.close();
    assert.equal(attempts, 1);
  });
});
