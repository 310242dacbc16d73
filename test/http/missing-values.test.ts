// Lists in the order of an index over several fields contain the resources without a value.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { idsOf, QueryClient } from "./query-client.ts";

const number = { type: "number" };
const rows = { a: { n: 1, m: 1 }, b: { m: 2 }, c: { n: 2 }, d: { m: 1 }, e: { n: 1, m: 0 } };

describe("a list in the order of an index whose first field is descending", () => {
  let app: TestApp;
  let asker: QueryClient;
  before(async () => {
    app = await startApp();
    asker = new QueryClient(app);
    await asker.define("things", {
      schema: { properties: { n: number, m: number } },
      indexed: [["-n", "m"]],
    });
    await asker.fill("things", rows);
  });
  after(() => app.stop());

  it("has missing values last, and first in the opposite order", async () => {
    const down = await asker.queryList("things", { sort: ["-n", "m"] });
    assert.deepEqual(idsOf(down), ["c", "e", "a", "d", "b"]);
    const up = await asker.queryList("things", { sort: ["n", "-m"] });
    assert.deepEqual(idsOf(up), ["b", "d", "a", "e", "c"]);
  });
});
