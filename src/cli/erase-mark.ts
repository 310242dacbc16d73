// A file in the data folder while erasures are not complete, so that the same command knows that it goes on.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Config } from "../server/config.ts";

export class EraseMark {
  /** Whether the same command was stopped before. On Postgres it is not known. */
  readonly isResumed: boolean;
  /** Whether this or another one can have been stopped before its end. */
  readonly isPending: boolean;
  readonly #path: string | undefined;
  /** The hashes of the commands that were stopped. */
  readonly #stopped: readonly string[];
  readonly #hash: string;

  constructor({ store, data }: Pick<Config, "store" | "data">, names: readonly string[]) {
    this.#path = store === undefined ? join(data, "restante.erasing") : undefined;
    this.#hash = createHash("sha256").update(JSON.stringify(names)).digest("hex");
    const isMarked = this.#path !== undefined && existsSync(this.#path);
    this.#stopped = isMarked ? readFileSync(this.#path, "utf8").split("\n") : [];
    this.isPending = this.#path === undefined || isMarked;
    this.isResumed = this.#stopped.includes(this.#hash);
  }

  /** It stays until `remove`, unless nothing was erased. Then it is as before. */
  async during<T>(erase: () => Promise<T>): Promise<T> {
    this.#write([...new Set([...this.#stopped, this.#hash])]);
    try {
      return await erase();
    } catch (thrown) {
      if (thrown instanceof CliError) this.#write(this.#stopped);
      throw thrown;
    }
  }

  /** What is erased at the end is that of every command before. */
  remove(): void {
    this.#write([]);
  }

  /** A disk that is full leaves the former file. */
  #write(hashes: readonly string[]): void {
    if (this.#path === undefined) return;
    if (hashes.length === 0) {
      rmSync(this.#path, { force: true });
      return;
    }
    const temporary = `${this.#path}.new`;
    try {
      writeFileSync(temporary, hashes.join("\n"), { mode: 0o600 });
      renameSync(temporary, this.#path);
    } catch (cause) {
      rmSync(temporary, { force: true });
      throw new CliError(1, `Nothing was erased: ${messageOf(cause)}`, { cause });
    }
  }
}
