// Writes endlessly and prints each id when it is acknowledged.

import { writeSync } from "node:fs";
import { withGroupCommit } from "../../../../src/store/group-commit.ts";
import { openSqlite } from "../../../../src/store/sqlite/sqlite.ts";

const [path = "", prefix = "", limit = "Infinity"] = process.argv.slice(2);
const store = withGroupCommit(await openSqlite({ path }));
const definition = '{"indexed":["of"],"searchable":["of"]}';
await store.commit([{ kind: "define", collection: "things", definition, at: 1 }]);
let count = 0;

async function writeOn(): Promise<void> {
  while (count < Number(limit)) {
    const id = `${prefix}-${count++}`;
    const fields = `{"of":"${id}"}`;
    await store.commit([
      { kind: "put", collection: "things", id, fields, at: count, expect: "nothing" },
      { kind: "put", collection: "things", id: `gone-${id}`, fields, at: count, expect: "nothing" },
      { kind: "remove", collection: "things", id: `gone-${id}`, at: count, expect: "anything" },
    ]);
    writeSync(1, `${id}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, writeOn));
await store.close();
