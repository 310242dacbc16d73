// Fills the other servers with the people that Restante holds, in their own files.

import { writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { person } from "./records.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

export async function fillJsonServer(file: string, count: number): Promise<void> {
  const people = numbers(count).map((id) => ({ id, ...person(id) }));
  await writeFile(file, JSON.stringify({ people, letters: [] }));
}

/** SQLite's defaults, which are durable; its driver's WAL would not wait for the disk. */
export function fillPlatformatic(file: string, count: number): void {
  inDatabase(file, (database) => {
    for (const table of ["people", "letters"])
      database.exec(
        `CREATE TABLE ${table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL)`,
      );
    const insert = database.prepare("INSERT INTO people (name, email) VALUES (?, ?)");
    for (const number of numbers(count)) {
      const { name, email } = person(number);
      insert.run(name, email);
    }
  });
}

export const pocketBaseId = (number: number): string => `r${String(number).padStart(14, "0")}`;

/** PocketBase has made its table already. */
export function fillPocketBase(file: string, count: number): void {
  inDatabase(file, (database) => {
    const insert = database.prepare(
      "INSERT INTO people (id, name, email, created, updated) VALUES (?, ?, ?, ?, ?)",
    );
    const at = new Date().toISOString().replace("T", " ");
    for (const number of numbers(count)) {
      const { name, email } = person(number);
      insert.run(pocketBaseId(number), name, email, at, at);
    }
  });
}

/** In one transaction, because the peers' own settings would sync each row. */
function inDatabase(file: string, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  database.exec("BEGIN");
  work(database);
  database.exec("COMMIT");
  database.close();
}
