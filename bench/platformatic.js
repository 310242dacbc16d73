// Starts @platformatic/db on a SQLite file. Arguments: the folder it is installed in, its data, port.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [home, data, port] = process.argv.slice(2);
const entry = createRequire(join(home, "package.json")).resolve("@platformatic/db");
const { create } = await import(pathToFileURL(entry).href);

const app = await create(
  data,
  {
    server: { hostname: "127.0.0.1", port: Number(port), logger: { level: "error" } },
    db: {
      connectionString: `sqlite://${join(data, "peer.sqlite")}`,
      openapi: true,
      graphql: false,
    },
    watch: false,
  },
  { isEntrypoint: true, isProduction: true },
);
// In what it takes for a container it listens everywhere; a benchmark is nobody else's business.
app.serverConfig.hostname = "127.0.0.1";
await app.start({ listen: true });
