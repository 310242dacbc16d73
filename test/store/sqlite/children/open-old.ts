// Opens a data folder, which migrates an old one, and writes what is reported and `open` to standard output.

import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const [path = ""] = process.argv.slice(2);
const store = await openSqlite({ path, report: (_, message) => console.log(message) });
console.log("open");
await store.close();
