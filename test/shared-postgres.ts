// Starts the Postgres server that all test files of a run share, prints its port, and runs until its input ends.

import { PostgresServer } from "./postgres-server.ts";

const server = await PostgresServer.start({ isShared: true });
await server.makeTemplate();
console.log(server.port);
process.stdin.on("end", () => void server.close()).resume();
