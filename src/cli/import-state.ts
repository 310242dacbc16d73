// Remembers an import in a file beside the input, so that the same command goes on after it was stopped.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { CliError, messageOf } from "../lib/cli-error.ts";
import { reasonOf } from "../lib/system-error.ts";
import { writeText, writeThenRename } from "./output-file.ts";

interface StoredImport {
  readonly collection: string;
  readonly size: number;
  readonly changedAt: number;
  readonly startedAt: number;
  readonly seed: string;
}

/** The import of one file without a key: each line has an id that is the same when the import goes on. */
export class ImportState {
  readonly #path: string;
  /** All of an id but the number of its line. */
  readonly #idStart: string;
  /** Whether an earlier command was stopped. */
  readonly isResumed: boolean;

  private constructor(path: string, { startedAt, seed }: StoredImport, isResumed: boolean) {
    this.#path = path;
    const time = startedAt.toString(16).padStart(12, "0");
    this.#idStart = `${time.slice(0, 8)}-${time.slice(8)}-7${seed.slice(0, 3)}-a${seed.slice(3, 6)}-${seed.slice(6, 8)}`;
    this.isResumed = isResumed;
  }

  /** Reads the state of an import that was stopped, or writes a new one before anything is imported. */
  static async open(
    file: string,
    collection: string,
    { size, changedAt }: Pick<StoredImport, "size" | "changedAt">,
  ): Promise<ImportState> {
    const path = statePath(file);
    const stored = existsSync(path) ? readState(path) : undefined;
    if (stored !== undefined) {
      if (stored.collection !== collection)
        throw changed(path, `an import of ${file} into ${stored.collection} was stopped`);
      if (stored.size !== size || stored.changedAt !== changedAt)
        throw changed(path, `${file} has changed since an import of it was stopped`);
      return new ImportState(path, stored, true);
    }
    const seed = randomBytes(4).toString("hex");
    const state = { collection, size, changedAt, startedAt: Date.now(), seed };
    try {
      await writeThenRename(path, (temporary) => writeText(temporary, JSON.stringify(state)));
    } catch (cause) {
      const hint = "It lets a stopped import continue; with --key it is not needed.";
      throw new CliError(1, `${messageOf(cause)} ${hint}`, { cause });
    }
    return new ImportState(path, state, false);
  }

  /** Returns the id of the resource of a line: a UUIDv7 of the time when the import began. */
  idOf(line: number): string {
    return this.#idStart + line.toString(16).padStart(10, "0");
  }

  /** Called when all lines are done, and the user knows. */
  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

export const statePath = (file: string): string => `${resolve(file)}.importing.json`;

function readState(path: string): StoredImport {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as StoredImport;
  } catch (cause) {
    throw new CliError(1, `Cannot read ${path}: ${reasonOf(cause)}.`, { cause });
  }
}

const changed = (path: string, what: string): CliError =>
  new CliError(
    1,
    `Nothing was imported: ${what}. To import it from the beginning, delete ${path}.`,
  );
