// A pooler that gives a session to another client after each transaction is refused at the start.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TestDatabases } from "./test-databases.ts";
import { type Order, TransactionPooler } from "./transaction-pooler.ts";

const databases = new TestDatabases();

describe("a pooler that pools by transaction", () => {
  for (const order of ["last", "oldest"] as const satisfies Order[])
    it(`is refused when it uses the ${order} session first`, () =>
      databases.in(async (testDatabase) => {
        using pooler = new TransactionPooler(testDatabase.url, order);
        const url = await pooler.listen();
        // Other clients have sessions, too.
        for (let clients = 0; clients < 3; clients++)
          await assert.rejects(
            testDatabase.open({ url }),
            /^Error: Cannot open postgres:.*by session \(pool_mode = session\)/,
          );
      }));

  it("is refused for reads", () =>
    databases.in(async (testDatabase) => {
      using pooler = new TransactionPooler(testDatabase.url, "last");
      const readUrl = await pooler.listen();
      await assert.rejects(testDatabase.open({ readUrl }), /pool_mode = session/);
    }));
});
