// Opens the store without root's rights, and says what came of it.

import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const nobody = 65_534;
if (process.getuid?.() === 0) process.setuid?.(nobody);
const [path = ""] = process.argv.slice(2);
try {
  await (await openSqlite({ path })).close();
  console.log("opened");
} catch (error) {
  console.log(String(error));
}
