// Notices that a newer Restante has migrated the tables while this node runs: then it must not write.

import type { Outage } from "../../model/outage.ts";
import { otherVersion, type WrittenBy } from "../version.ts";
import { isOtherSchema } from "./errors.ts";
import { schemaRange, schemaVersion } from "./schema.ts";

export class SchemaGuard {
  readonly #read: () => Promise<WrittenBy>;
  readonly #report: (message: string) => void;
  #newer: Outage | undefined;
  /** Whether the last look at the version failed. */
  #isUnknown = false;
  /** The look that begins after the present work. */
  #next: Promise<void> | undefined;

  constructor(read: () => Promise<WrittenBy>, report: (message: string) => void) {
    this.#read = read;
    this.#report = report;
  }

  /** Rejects when the tables are newer than this node knows. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isUnknown) await this.check();
    if (this.#newer) throw this.#newer;
    try {
      return await work();
    } catch (error) {
      if (isOtherSchema(error)) await this.check();
      throw this.#newer ?? error;
    }
  }

  /** Looks at the version, once for the notifications that arrive together. After an outage the next write does it again. */
  check(): Promise<void> {
    this.#next ??= Promise.resolve().then(() => {
      this.#next = undefined;
      return this.#look();
    });
    return this.#next;
  }

  async #look(): Promise<void> {
    const [result] = await Promise.allSettled([this.#read()]);
    this.#isUnknown = result.status === "rejected";
    if (result.status === "rejected" || result.value.schema <= schemaVersion || this.#newer) return;
    this.#newer = otherVersion(result.value, schemaRange());
    this.#report(`writes are rejected: ${this.#newer.message}`);
  }
}
