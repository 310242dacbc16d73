// Saves files, as many as asked for, and prints the result of each; without a number, one endless file.

import { writeSync } from "node:fs";
import { Outage } from "../../../../src/model/outage.ts";
import { openDisk } from "../../../../src/store/disk/disk.ts";

const [folder = "", count = "0"] = process.argv.slice(2);
const files = openDisk(folder);

async function* endless(): AsyncIterable<Uint8Array> {
  for (let number = 0; ; number++) {
    yield new Uint8Array(64 * 1024);
    if (number === 20) writeSync(1, "under way\n");
  }
}

async function* some(): AsyncIterable<Uint8Array> {
  yield new Uint8Array(1_000);
}

for (let number = 0; number < Number(count); number++)
  try {
    const kept = await files.save(some(), 10_000);
    console.log(kept === "too-large" ? kept : `kept ${kept.key}`);
  } catch (error) {
    console.log(error instanceof Outage ? error.reason : `bug ${error}`);
  }
if (count === "0") await files.save(endless(), Number.MAX_SAFE_INTEGER);
