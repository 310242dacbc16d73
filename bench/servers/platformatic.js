// Starts @platformatic/db. Arguments: the folder it is installed in, a folder to work in, port, database.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [home, folder, port, connectionString] = process.argv.slice(2);
const entry = createRequire(join(home, "package.json")).resolve("@platformatic/db");
const { create } = await import(pathToFileURL(entry).href);

const app = await create(
  folder,
  {
    server: { hostname: "127.0.0.1", port: Number(port), logger: { level: "error" } },
    db: { connectionString, openapi: true, graphql: false },
    watch: false,
  },
  { isEntrypoint: true, isProduction: true },
);
// In what it takes for a container it listens everywhere; a benchmark is nobody else's business.
app.serverConfig.hostname = "127.0.0.1";
await app.start({ listen: true });
