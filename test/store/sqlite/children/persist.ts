// Writes one resource after another, and prints whether each was stored or why not; waits while the disk is suspect.

import { Outage } from "../../../../src/model/outage.ts";
import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";
import { contentOf } from "../written-content.ts";

const [path = "", count = "0", bytes = "0", prefix = "id"] = process.argv.slice(2);
const report = (level: string, message: string) => console.log(`${level} ${message}`);
const store = await openSqlite({ path, report });
/** Ends the process where only a restart would help. */
async function untilReady(): Promise<void> {
  for (let reason: string | undefined = ""; reason !== undefined; ) {
    reason = await store.ready();
    if (reason?.includes("restart Restante")) process.exit(2);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
const isFounded = await store
  .commit([{ kind: "create-collection", collection: "things", at: 1 }])
  .then(() => true)
  .catch(() => false);
if (!isFounded) await untilReady();
if (!isFounded) await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
for (let number = 0; number < Number(count); number++) {
  const id = `${prefix}-${number}`;
  const fields = contentOf(id, Number(bytes));
  try {
    await store.commit([
      { kind: "put", collection: "things", id, fields, at: 1, expect: "nothing" },
    ]);
    console.log(`kept ${id}`);
  } catch (error) {
    console.log(`${error instanceof Outage ? error.reason : error} ${id}`);
    await untilReady();
  }
}
await store.close();
console.log("closed");
