// Reads a database until it is killed, as a program does that follows it.

import { DatabaseSync } from "node:sqlite";

const [path = ""] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec("BEGIN");
database.prepare("SELECT count(*) FROM store").get();
process.stdout.write("reading\n");
setInterval(() => database.isOpen, 60_000);
