// Opens a data folder, which migrates an old one, and prints what is reported, and `open` or the error.

import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const [path = ""] = process.argv.slice(2);
try {
  const store = await openSqlite({ path, report: (_, message) => console.log(message) });
  console.log("open");
  await store.close();
} catch (error) {
  console.log(String(error));
  process.exitCode = 1;
}
