// Watches whether files can be read and saved, where they are not on the disk of the store.

import type { Files } from "../store/files.ts";
import type { Log } from "./log.ts";

/** A load balancer may ask each second. */
const freshMs = 5_000;

export class FilesHealth {
  readonly #files: Files;
  readonly #log: Pick<Log, "warn" | "info">;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #check: Promise<string | undefined> = Promise.resolve(undefined);
  #last: string | undefined;

  constructor(files: Files, log: Pick<Log, "warn" | "info">) {
    this.#files = files;
    this.#log = log;
  }

  /** Returns why not, or undefined. The log has each change. */
  unready(): Promise<string | undefined> | undefined {
    if (this.#files.ready === undefined) return undefined;
    if (performance.now() - this.#checkedAt >= freshMs) {
      this.#checkedAt = performance.now();
      this.#check = this.#files.ready().then((reason) => this.#note(reason));
    }
    return this.#check;
  }

  #note(reason: string | undefined): string | undefined {
    if (reason !== undefined && reason !== this.#last)
      this.#log.warn({ reason }, "files cannot be read and saved now; everything else works");
    if (reason === undefined && this.#last !== undefined)
      this.#log.info("files can be read and saved again");
    this.#last = reason;
    return reason;
  }
}
