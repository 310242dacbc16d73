// What a copy says when one of its databases fails.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { Outage } from "../../src/model/outage.ts";
import { outageIn } from "../../src/server/open-replica.ts";

/** The error of a database that cannot grow. */
function fullDatabase(): unknown {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE one (text); PRAGMA max_page_count = 2");
  try {
    database.exec("INSERT INTO one VALUES (zeroblob(100000))");
    return undefined;
  } catch (thrown) {
    return thrown;
  } finally {
    database.close();
  }
}

describe("a copy whose database fails", () => {
  it("says that the disk is full", () => {
    const outage = outageIn(fullDatabase());
    assert.ok(outage instanceof Outage);
    assert.equal(outage.reason, "full");
    assert.match(outage.message, /^the disk is full/);
  });

  it("says that the connection to Postgres broke", () => {
    const outage = outageIn(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
    assert.ok(outage instanceof Outage);
    assert.match(outage.message, /^the connection to the database broke/);
  });
});
