// Creates resources endlessly, each with a key; prints the key before and the outcome after.

import { writeSync } from "node:fs";
import { withGroupCommit } from "../../../../src/store/group-commit.ts";
import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";
import { attempt, failure } from "../retried-request.ts";

const [path = "", prefix = ""] = process.argv.slice(2);
const store = withGroupCommit(await openSqlite({ path }));
let count = 0;

async function createOn(): Promise<void> {
  for (;;) {
    const key = `${prefix}-${count++}`;
    writeSync(1, `try ${key}\n`);
    const [, outcome] = await store.commit([failure(key), attempt(key, 0)]);
    writeSync(1, `done ${key} ${JSON.stringify(outcome)}\n`);
  }
}

await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
await Promise.all(Array.from({ length: 16 }, createOn));
