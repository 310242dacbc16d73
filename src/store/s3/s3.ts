// Stores files in a bucket: one object for each, under its key. Several servers can share the bucket.

import { setTimeout as wait } from "node:timers/promises";
import { FileOutage, Outage } from "../../model/outage.ts";
import { isKey, newKey } from "../file-key.ts";
import {
  type FileBytes,
  type Files,
  type FindReferenced,
  type LinkOptions,
  type OpenedFile,
  type SavedFile,
  saveAs,
} from "../files.ts";
import { PartialUploads } from "../partial-uploads.ts";
import { S3Client, type S3Timing } from "./client.ts";
import type { Environment } from "./credentials.ts";
import type { S3Location } from "./location.ts";
import { readObject, removeObject, renewObject, stateOf } from "./objects.ts";
import { type FindStore, Owner } from "./owner.ts";
import { claimOf, nameOf, orphansIn, setAside, settleAside, sweep } from "./sweep.ts";
import { upload } from "./upload.ts";
import { S3UploadObjects } from "./upload-objects.ts";

export interface S3Options {
  readonly timing?: S3Timing | undefined;
  /** The store that the prefix belongs to. Without it nothing is checked. */
  readonly findStore?: FindStore | undefined;
}

/** Throws when there are no credentials. Sends no request yet. */
export function openS3(
  location: S3Location,
  environment: Environment,
  { timing, findStore }: S3Options = {},
): Files {
  const client = new S3Client(location, environment, timing);
  return new S3(client, new Owner(client, findStore));
}

/** A small range is read at once, so that every runtime sends its Content-Length. */
const smallBytes = 1024 * 1024;
/** A younger file need not be renewed: no sweep removes it for a long time. */
const youngMs = 10 * 60_000;
const confirmMs = 30_000;

class S3 implements Files {
  readonly partial: PartialUploads;
  readonly #client: S3Client;
  readonly #owner: Owner;

  constructor(client: S3Client, owner: Owner) {
    this.#client = client;
    this.#owner = owner;
    this.partial = new PartialUploads(new S3UploadObjects(client, owner));
  }

  claim(): Promise<void> {
    return this.#owner.claim();
  }

  async save(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large"> {
    await this.claim();
    const key = newKey();
    const saved = await upload(this.#client, nameOf(key), bytes, { maxBytes, isNew: true });
    return saved === "too-large" ? saved : { key, ...saved };
  }

  async saveAs(key: string, bytes: AsyncIterable<Uint8Array>, sha256: string): Promise<boolean> {
    await this.claim();
    const options = { maxBytes: Number.POSITIVE_INFINITY, isNew: false };
    return saveAs(this, key, sha256, () => upload(this.#client, nameOf(key), bytes, options));
  }

  async read(
    key: string,
    start: number,
    end: number,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return isKey(key) ? readObject(this.#client, nameOf(key), start, end) : undefined;
  }

  readonly send = async (
    key: string,
    start: number,
    end: number,
  ): Promise<FileBytes | undefined> => {
    const stream = await this.read(key, start, end);
    if (stream === undefined || end - start > smallBytes) return stream;
    return new Response(stream).blob();
  };

  async open(key: string): Promise<OpenedFile | undefined> {
    const size = await this.size(key);
    if (size === undefined) return undefined;
    const bytes = await this.read(key, 0, size);
    return bytes && { size, bytes };
  }

  async size(key: string): Promise<number | undefined> {
    return isKey(key) ? (await stateOf(this.#client, nameOf(key)))?.size : undefined;
  }

  async touch(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#touch(nameOf(key), claimOf(key))));
  }

  /** A sweep that claims the file later finds it young. One that has claimed it is seen here. */
  async #touch(name: string, claim: string): Promise<void> {
    const state = await stateOf(this.#client, name);
    if (state !== undefined && state.ageMs < youngMs) return;
    const isRenewed = state !== undefined && (await renewObject(this.#client, name));
    const isClaimed = isRenewed && (await stateOf(this.#client, claim)) !== undefined;
    if (isClaimed || !isRenewed || (await stateOf(this.#client, name)) === undefined)
      throw new FileOutage("unavailable", "a file was removed before its resource was written");
  }

  async confirm(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#confirm(key)));
  }

  /** A sweep removes its claim after the file, or because it has seen the resource. */
  async #confirm(key: string): Promise<void> {
    const deadline = performance.now() + confirmMs;
    while ((await stateOf(this.#client, claimOf(key))) !== undefined) {
      if (performance.now() > deadline) break;
      await wait(250);
    }
    if ((await stateOf(this.#client, nameOf(key))) === undefined)
      throw new FileOutage("unknown", "a file was removed while its resource was being written");
  }

  async remove(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.filter(isKey).map((key) => removeObject(this.#client, nameOf(key))));
  }

  setAside(keys: readonly string[]): Promise<void> {
    return setAside(this.#client, keys.filter(isKey));
  }

  async settleAside(findReferenced: FindReferenced): Promise<void> {
    await this.claim();
    await settleAside(this.#client, findReferenced);
  }

  async sweep(findReferenced: FindReferenced, olderThanMs: number): Promise<number> {
    await this.claim();
    return sweep(this.#client, findReferenced, olderThanMs);
  }

  orphans(findReferenced: FindReferenced, olderThanMs: number): AsyncIterable<readonly string[]> {
    return orphansIn(this.#client, findReferenced, olderThanMs);
  }

  async link(key: string, { expiresInSeconds, ...answer }: LinkOptions): Promise<string> {
    return this.#client.presign(nameOf(key), {
      "X-Amz-Expires": String(expiresInSeconds),
      "response-content-type": answer.type,
      "response-content-disposition": answer.disposition,
      "response-cache-control": answer.cacheControl,
    });
  }

  async ready(): Promise<string | undefined> {
    try {
      // One object that is never there: 404 means that the bucket answers and the credentials are right.
      await this.#client.call({ method: "GET", name: "restante.ready", allowed: [404] });
      return undefined;
    } catch (error) {
      return error instanceof Outage ? error.message : String(error);
    }
  }
}
