// Writes to the data folder, in words for people, which versions of Restante can open it.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { WrittenBy } from "../version.ts";
import { Connection } from "./connection.ts";
import { formerFiles } from "./file.ts";
import { readWrittenBy } from "./schema.ts";

/** What the database of a folder says of itself. */
function writtenByIn(folder: string): WrittenBy {
  const connection = new Connection(join(folder, "restante.db"), "read");
  try {
    return readWrittenBy(connection);
  } finally {
    connection.close();
  }
}

/** A full disk must not stop a server that only reads, so a file that cannot be written is left out. */
export function writeVersionFile(folder: string): void {
  const path = join(folder, "restante.version");
  try {
    const text = describe(writtenByIn(folder), formerFiles(folder));
    if (readIfThere(path) === text) return;
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {}
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function describe({ schema, restante, oldest }: WrittenBy, former: readonly string[]): string {
  const lines = [
    "A data folder of Restante.",
    `Schema version: ${schema}, written by Restante ${restante}`,
    `Can be opened by: Restante ${oldest} and later`,
    ...former.map((path) => `Before the migration: ${basename(path)}, until the next start`),
  ];
  return `${lines.join("\n")}\n`;
}
