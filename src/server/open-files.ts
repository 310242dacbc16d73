// Opens the place where the files of a config are stored: a folder or a bucket.

import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { SendFile } from "../lib/file-access.ts";
import { openDisk } from "../store/disk/disk.ts";
import { isKeyDirectory } from "../store/disk/paths.ts";
import type { Files } from "../store/files.ts";
import { bucketAddressOf } from "../store/s3/bucket-address.ts";
import { isS3Url, parseLocation } from "../store/s3/location.ts";
import { type FindStore, OtherStore } from "../store/s3/owner.ts";
import { openS3 } from "../store/s3/s3.ts";
import { type Config, processEnvironment } from "./config.ts";
import type { Log } from "./log.ts";

type FilesPlace = Pick<Config, "files" | "data">;

interface OpenOptions {
  readonly sendFile?: SendFile | undefined;
  /** The store that writes there. A bucket accepts one. */
  readonly findStore?: FindStore | undefined;
}

/** Throws when there are no credentials for a bucket. */
export function openFiles(config: FilesPlace, { sendFile, findStore }: OpenOptions = {}): Files {
  const location = parseLocation(config.files ?? "");
  if (location !== undefined) return openS3(location, processEnvironment(), { findStore });
  return openDisk(filesFolder(config) ?? "", sendFile);
}

/** How long a start waits for a bucket that does not answer. */
const claimMs = 3_000;

/** Rejects when the files belong to another store. After an outage, that is found out before anything is written. */
export async function claimFiles(files: Files): Promise<void> {
  const claimed = files.claim?.().catch((error) => {
    if (error instanceof OtherStore) throw error;
  });
  const timer = new AbortController();
  const late = wait(claimMs, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([claimed, late]).finally(() => timer.abort());
}

/** Returns the folder of the uploaded files, or undefined when they are in a bucket. */
export function filesFolder({ files, data }: FilesPlace): string | undefined {
  if (files === undefined) return join(data, "files");
  return isS3Url(files) ? undefined : files;
}

export const isInBucket = (config: FilesPlace): boolean => filesFolder(config) === undefined;

/** Returns the folders to lock: two stores with the same folder of files would remove each other's files. */
export function foldersOf({ files }: Pick<Config, "files">, data: string): readonly string[] {
  return files === undefined || isS3Url(files) ? [data] : [data, files];
}

/** Whether there are uploaded files, as far as a look tells. In a bucket there may be. */
export function hasFiles(config: FilesPlace): boolean {
  const folder = filesFolder(config);
  if (folder === undefined) return true;
  return existsSync(folder) && readdirSync(folder).some(isKeyDirectory);
}

/** Whether a place is the other one or within it. Each is a folder or the s3:// URL of a bucket. */
export function isWithin(place: string, other: string): boolean {
  const [inner, outer] = [keyOf(place), keyOf(other)];
  if (inner !== undefined && outer !== undefined) return inner.startsWith(outer);
  return inner === outer && !relative(other, place).startsWith("..");
}

/** Two URLs can mean one place. Returns undefined for a folder. */
function keyOf(place: string): string | undefined {
  const location = parseLocation(place);
  if (location === undefined) return undefined;
  const { url, prefix } = bucketAddressOf(location, processEnvironment());
  return `${url}/${prefix}`;
}

/** A load balancer may ask each second. */
const freshMs = 5_000;

/** Watches whether files can be read and saved, where they are not on the disk of the store. */
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
