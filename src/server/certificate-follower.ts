// Looks for a new certificate on disk, and gives it to the server when it matches its key.

import { readFile } from "node:fs/promises";
import { messageOf } from "../lib/cli-error.ts";
import type { Task, Tasks } from "../lib/tasks.ts";
import type { Server } from "../runtime/runtime.ts";
import {
  type CertificateFiles,
  type CertificateTexts,
  type CheckedCertificate,
  checkCertificate,
  unreadable,
} from "./certificate.ts";
import type { ConfigError } from "./config.ts";
import type { Log } from "./log.ts";

/** The files are read, because their times do not tell every change, and certbot replaces links. */
const everyMs = 2_000;

export class CertificateFollower {
  readonly #files: CertificateFiles;
  readonly #server: Pick<Server, "replaceCertificate">;
  readonly #log: Log;
  readonly #task: Task;
  #used: CheckedCertificate;
  #last: Promise<void> = Promise.resolve();
  /** What was wrong at the last look, and whether that is logged. */
  #reason = "";
  #isLogged = false;

  constructor(
    files: CertificateFiles,
    used: CheckedCertificate,
    server: Pick<Server, "replaceCertificate">,
    log: Log,
    tasks: Tasks,
  ) {
    this.#files = files;
    this.#used = used;
    this.#server = server;
    this.#log = log;
    this.#task = tasks.add({ name: "certificate", everyMs, run: () => this.look() });
    this.#task.schedule(everyMs);
  }

  /** When the certificate in use expires, in milliseconds since 1970. */
  get expiresAt(): number {
    return this.#used.expiresAt;
  }

  stop(): Promise<void> {
    return this.#task.close();
  }

  /** Looks after the looks that are in progress, so that each change is used once. */
  look(): Promise<void> {
    this.#last = this.#last
      .then(() => this.#lookNow())
      .catch((error: unknown) => this.#warn(messageOf(error)));
    return this.#last;
  }

  /** Certificate and key are written one after the other, so an error is logged when it stays. */
  async #lookNow(): Promise<void> {
    const errors: ConfigError[] = [];
    const pair = await this.#read(errors);
    const isNew = pair.cert !== this.#used.cert || pair.key !== this.#used.key;
    const checked = isNew ? checkCertificate(pair, this.#files, errors) : this.#used;
    if (checked === undefined)
      return this.#warn(errors.map(({ where, detail }) => `${where}: ${detail}`).join("; "));
    if (isNew) this.#use(checked);
    this.#reason = "";
  }

  async #read(errors: ConfigError[]): Promise<CertificateTexts> {
    const read = (name: keyof CertificateFiles) =>
      readFile(this.#files[name], "utf8").catch((error: unknown) => {
        errors.push(unreadable(this.#files, name, error));
        return undefined;
      });
    return { cert: await read("cert"), key: await read("key") };
  }

  #use(checked: CheckedCertificate): void {
    this.#server.replaceCertificate(checked);
    this.#used = checked;
    const expires = new Date(checked.expiresAt).toISOString();
    this.#log.info({ expires }, "uses the new certificate");
  }

  #warn(reason: string): void {
    const stays = reason === this.#reason;
    if (stays && !this.#isLogged)
      this.#log.warn(
        { reason },
        "the certificate on disk cannot be used, so the previous one is kept",
      );
    this.#isLogged = stays;
    this.#reason = reason;
  }
}
