// Writes one after another, and says of each whether it was kept or why not.

import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";
import { Outage } from "../../../../src/store/store.ts";

const [path = "", count = "0"] = process.argv.slice(2);
const store = await openSqlite({ path });
await store.commit([{ kind: "found", collection: "things", at: 1 }]);
for (let number = 0; number < Number(count); number++) {
  const id = `id-${number}`;
  try {
    await store.commit([
      { kind: "put", collection: "things", id, fields: "{}", at: 1, expect: "nothing" },
    ]);
    console.log(`kept ${id}`);
  } catch (error) {
    console.log(`${error instanceof Outage ? error.reason : error} ${id}`);
  }
}
await store.close();
