// Sets the definition of the collection `things`, and reports it while the indexes are built.

import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const [path = "", definition = ""] = process.argv.slice(2);
const store = await openSqlite({ path });
if ((await store.rules("things"))?.definition !== definition)
  await store.commit([{ kind: "define", collection: "things", definition, at: 1 }]);
console.log("defined");
setInterval(() => undefined, 1_000);
