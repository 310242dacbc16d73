// Migrates a database by the made-up steps. Kills itself in a transaction of them: before its statements, or before its commit.

import { Connection } from "../../../../src/store/postgres/connection.ts";
import { type MigrationStep, migrate } from "../../../../src/store/postgres/schema.ts";
import { steps } from "../older-database.ts";

const [url = "", schema = "", killedIn = "", moment = ""] = process.argv.slice(2);
let transactions = 0;

const dieAt = (now: string): void => {
  if (moment === now && transactions === Number(killedIn)) process.kill(process.pid, "SIGKILL");
};

const killing = steps.map((step): MigrationStep => {
  return async (sql, report) => {
    transactions++;
    dieAt("before its statements");
    if (typeof step === "string") await sql.unsafe(step).simple();
    const isDone = typeof step === "string" || (await step(sql, report));
    dieAt("before its commit");
    return isDone;
  };
});

const connection = await Connection.open({ url, schema, deadlineMs: 0 });
await migrate(connection, schema, killing);
await connection.close();
