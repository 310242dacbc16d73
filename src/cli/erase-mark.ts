// A file in the data folder while an erasure is not complete, so that the same command knows that it goes on.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../lib/cli-error.ts";
import type { Config } from "../server/config.ts";

export class EraseMark {
  /** Whether the same command was stopped before. On Postgres it is not known. */
  readonly isResumed: boolean;
  /** Whether this or another one can have been stopped before its end. */
  readonly isPending: boolean;
  readonly #path: string | undefined;
  readonly #hash: string;

  constructor({ store, data }: Config, names: readonly string[]) {
    this.#path = store === undefined ? join(data, "restante.erasing") : undefined;
    this.#hash = createHash("sha256").update(JSON.stringify(names)).digest("hex");
    this.isPending = this.#path === undefined || existsSync(this.#path);
    this.isResumed =
      this.isPending && this.#path !== undefined && readFileSync(this.#path, "utf8") === this.#hash;
  }

  /** It stays until `remove`, unless nothing was erased. */
  async during<T>(erase: () => Promise<T>): Promise<T> {
    if (this.#path !== undefined) writeFileSync(this.#path, this.#hash, { mode: 0o600 });
    try {
      return await erase();
    } catch (thrown) {
      if (thrown instanceof CliError) this.remove();
      throw thrown;
    }
  }

  remove(): void {
    if (this.#path !== undefined) rmSync(this.#path, { force: true });
  }
}
