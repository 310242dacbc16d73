// A node that writes endlessly and prints each id when it is acknowledged.

import { writeSync } from "node:fs";
import { withGroupCommit } from "../../../../src/store/group-commit.ts";
import { openPostgres } from "../../../../src/store/postgres/postgres.ts";

const [url = "", schema = "", prefix = ""] = process.argv.slice(2);
const store = withGroupCommit(await openPostgres({ url, schema, readers: 1 }));
await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
let count = 0;

async function writeOn(): Promise<void> {
  for (;;) {
    const id = `${prefix}-${count++}`;
    await store.commit([
      { kind: "put", collection: "things", id, fields: "{}", at: 1, expect: "nothing" },
      {
        kind: "put",
        collection: "things",
        id: `gone-${id}`,
        fields: "{}",
        at: 1,
        expect: "nothing",
      },
      { kind: "remove", collection: "things", id: `gone-${id}`, at: 1, expect: "anything" },
    ]);
    writeSync(1, `${id}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, writeOn));
