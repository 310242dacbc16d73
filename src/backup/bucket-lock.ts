// Locks a place in a bucket for one process. A lock that is not renewed was of a process that died.

import { randomBytes } from "node:crypto";
import type { S3Client } from "../store/s3/client.ts";
import { ifNone, listObjects, putObject, readText, removeObject } from "../store/s3/objects.ts";
import { InvalidBackup } from "./manifest.ts";

const folder = "restante.lock/";
const renewMs = 30_000;
/** By the clock of S3. */
const staleMs = 5 * 60_000;

/** Locks are numbered: only one process can follow one that died. */
export class BucketLock {
  readonly #client: S3Client;
  readonly #number: number;
  readonly #token: Uint8Array;
  readonly #timer: NodeJS.Timeout;

  private constructor(client: S3Client, number: number, token: Uint8Array) {
    this.#client = client;
    this.#number = number;
    this.#token = token;
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), renewMs).unref();
  }

  /** Resolves with undefined when another process has the lock. */
  static async tryTake(client: S3Client): Promise<BucketLock | undefined> {
    const last = (await locksIn(client)).at(-1);
    if (last !== undefined && last.ageMs < staleMs) return undefined;
    const number = (last?.number ?? 0) + 1;
    const token = Buffer.from(randomBytes(16).toString("hex"));
    const isTaken =
      (await putObject(client, nameOf(number), token, ifNone)) ||
      // The answer to an earlier attempt was lost.
      (await readText(client, nameOf(number))) === token.toString();
    return isTaken ? new BucketLock(client, number, token) : undefined;
  }

  /** Rejects when this process has paused for so long that another one took the lock. */
  async requireHeld(): Promise<void> {
    const last = (await locksIn(this.#client)).at(-1);
    if (last?.number !== this.#number || !(await this.#isOwn()))
      throw new InvalidBackup("another process has begun to write a backup to the same place");
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (!(await this.#isOwn())) return;
    for (const { number } of await locksIn(this.#client))
      if (number <= this.#number) await removeObject(this.#client, nameOf(number));
  }

  async #renew(): Promise<void> {
    if (await this.#isOwn()) await putObject(this.#client, nameOf(this.#number), this.#token);
  }

  async #isOwn(): Promise<boolean> {
    return (await readText(this.#client, nameOf(this.#number))) === this.#token.toString();
  }
}

const nameOf = (number: number): string => folder + String(number).padStart(6, "0");

interface FoundLock {
  readonly number: number;
  readonly ageMs: number;
}

/** The newest is the last. */
async function locksIn(client: S3Client): Promise<readonly FoundLock[]> {
  const found: FoundLock[] = [];
  for await (const page of listObjects(client, folder))
    for (const { name, ageMs } of page)
      found.push({ number: Number(name.slice(folder.length)), ageMs });
  return found.toSorted((a, b) => a.number - b.number);
}
