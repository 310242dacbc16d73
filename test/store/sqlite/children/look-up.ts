// Looks for a resource until it is found, as a process that only reads: a line for each answer.

import { setTimeout as sleep } from "node:timers/promises";
import { mapFile } from "#runtime";
import { Outage } from "../../../../src/model/outage.ts";
import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const [path = "", id = ""] = process.argv.slice(2);
const never = async () => {
  throw new Error("this process only reads");
};
const committer = {
  ...{ commit: never, erase: never, scrub: never, lastError: undefined },
  ...{ settled: async () => undefined, close: async () => undefined },
};
const store = await openSqlite({ path, mapFile, committer });

async function lookUp(): Promise<string> {
  try {
    return (await store.find("things", id)) ? "found" : "missing";
  } catch (error) {
    if (error instanceof Outage) return error.reason;
    throw error;
  }
}

for (let answer = ""; answer !== "found"; await sleep(20)) {
  answer = await lookUp();
  console.log(answer);
}
await store.close();
