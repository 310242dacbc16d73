// Compares a file with what is on the disk, and prints the error.

import { assertOnDisk } from "../../../../src/store/sqlite/on-disk.ts";

try {
  assertOnDisk(process.argv[2] ?? "");
  console.log("same");
} catch (error) {
  console.log(String(error));
}
