// Migrates a data folder, and opens it. Prints what is reported, and `open` or the error. Kills itself at a message.

import { openFile } from "../../../../src/store/sqlite/open.ts";
import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";
import { steps } from "../older-database.ts";

const [path = "", killedAt = ""] = process.argv.slice(2);
let messages = 0;
const report = (_: unknown, message: string) => {
  console.log(message);
  if (++messages === Number(killedAt)) process.kill(process.pid, "SIGKILL");
};
try {
  await openFile({ path, report }, steps);
  const store = await openSqlite({ path });
  console.log("open");
  await store.close();
} catch (error) {
  console.log(String(error));
  process.exitCode = 1;
}
