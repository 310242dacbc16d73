// Opens the store without root permissions, and prints the result.

import { accessSync } from "node:fs";
import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const nobody = 65_534;
if (process.getuid?.() === 0) process.setuid?.(nobody);
const [path = ""] = process.argv.slice(2);

function canReadTheCode(): boolean {
  try {
    accessSync(new URL(import.meta.url));
    return true;
  } catch {
    return false;
  }
}

if (canReadTheCode())
  try {
    await (await openSqlite({ path })).close();
    console.log("opened");
  } catch (error) {
    console.log(String(error));
  }
