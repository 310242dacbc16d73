// What a node does when notifications make it look whether a newer version has migrated the tables.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SchemaGuard } from "../../../src/store/postgres/schema-guard.ts";

describe("a look at the version of the tables", () => {
  it("is one for notifications that arrive together, and sees what was before the last of them", async () => {
    let schema = 1;
    const reported: string[] = [];
    const looks: number[] = [];
    const guard = new SchemaGuard(
      async () => {
        looks.push(schema);
        return { schema, restante: "9.0.0", oldest: undefined };
      },
      (message) => reported.push(message),
    );
    // More would fill the queues of the connections for reads.
    const together = Array.from({ length: 2_000 }, () => guard.check());
    schema = 1_000;
    await Promise.all(together);
    assert.deepEqual(looks, [1_000]);
    assert.match(reported.join(), /9\.0\.0/);
    await guard.check();
    assert.equal(looks.length, 2);
  });
});
