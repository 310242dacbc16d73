// Opens a store, which migrates its database, and closes it.

import { openPostgres } from "../../../../src/store/postgres/postgres.ts";

const [url = "", schema = ""] = process.argv.slice(2);
const store = await openPostgres({ url, schema });
await store.close();
