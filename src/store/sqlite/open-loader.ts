// Opens a loader on a data folder: for a new database that replaces the one there, or for the one there.

import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Loader } from "../transfer/transfer.ts";
import { Connection } from "./connection.ts";
import {
  acceptCopy,
  createFile,
  type DatabaseFile,
  finishSwap,
  prepareFile,
  removeCopy,
} from "./file.ts";
import { SqliteLoader } from "./loader.ts";
import { migrate } from "./migrate.ts";
import { assertOnDisk } from "./on-disk.ts";
import { requireUnused } from "./other-programs.ts";
import { createTables, migrationSteps } from "./schema.ts";

/** Whether the folder has a database with content. */
export const hasDatabase = (folder: string): boolean =>
  ["restante.db", "restante.new"].some(
    (name) => (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0) > 0,
  );

/**
 * Rows go to a new file, which replaces the database when they are published. The caller owns the folder.
 * Throws while another program has the database open, unless it is forced.
 */
export function openNewDatabase(folder: string, isForced = false): Loader {
  const file = prepareFile(folder);
  const require = () => {
    if (!isForced) requireUnused(file);
  };
  require();
  removeCopy(file);
  createFile(file.copy);
  const connection = new Connection(file.copy, "fill");
  try {
    createTables(connection);
    return new NewDatabase(file, new SqliteLoader(connection), require);
  } catch (error) {
    connection.close();
    removeCopy(file);
    throw error;
  }
}

/** Rows go to the database that is there, which is migrated first. The caller owns the folder. */
export async function openExistingDatabase(folder: string): Promise<Loader> {
  const { path } = await migrate(prepareFile(folder), migrationSteps, () => undefined);
  const connection = new Connection(path, "write");
  try {
    createTables(connection);
    return new SqliteLoader(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

class NewDatabase implements Loader {
  readonly #file: DatabaseFile;
  readonly #loader: SqliteLoader;
  readonly #require: () => void;
  #isClosed = false;

  constructor(file: DatabaseFile, loader: SqliteLoader, require: () => void) {
    this.#file = file;
    this.#loader = loader;
    this.#require = require;
  }

  begin(...collection: Parameters<Loader["begin"]>): ReturnType<Loader["begin"]> {
    return this.#loader.begin(...collection);
  }

  async publish(...publication: Parameters<Loader["publish"]>): Promise<void> {
    await this.#loader.publish(...publication);
    await this.#close();
    assertOnDisk(this.#file.copy);
    // A program can have opened it meanwhile.
    this.#require();
    acceptCopy(this.#file);
    // It counts the commits of the former database.
    rmSync(this.#file.commitCounter, { force: true });
    finishSwap(this.#file);
  }

  async close(): Promise<void> {
    await this.#close();
    removeCopy(this.#file);
  }

  async #close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#loader.close();
  }
}
