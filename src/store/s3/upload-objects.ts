// Stores the objects of uploads that arrive in several requests in a bucket.

import type { UploadFolder, UploadObjects } from "../partial-uploads.ts";
import type { S3Client } from "./client.ts";
import {
  ifNone,
  type ListedObject,
  listObjects,
  putObject,
  readObject,
  readText,
  removeObject,
} from "./objects.ts";
import type { Owner } from "./owner.ts";
import { upload } from "./upload.ts";

export class S3UploadObjects implements UploadObjects {
  readonly #client: S3Client;
  readonly #owner: Owner;

  constructor(client: S3Client, owner: Owner) {
    this.#client = client;
    this.#owner = owner;
  }

  async put(name: string, text: string, which: "first" | "new" | "any"): Promise<boolean> {
    await this.#owner.claim();
    return putObject(this.#client, name, Buffer.from(text), which === "new" ? ifNone : {});
  }

  read(name: string): Promise<string | undefined> {
    return readText(this.#client, name);
  }

  claim(name: string): Promise<boolean> {
    return this.put(name, "", "new");
  }

  /** Nothing of it is there before it is complete. */
  async write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const options = { maxBytes: Number.POSITIVE_INFINITY, isNew: false };
    const saved = await upload(this.#client, name, bytes, options);
    return saved === "too-large" ? 0 : saved.size;
  }

  async settle(): Promise<number> {
    return 0;
  }

  bytes(name: string, size: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    return readObject(this.#client, name, 0, size);
  }

  async empty(name: string): Promise<void> {
    await this.put(name, "", "any");
  }

  async list(folder: string): Promise<UploadFolder | undefined> {
    const objects: ListedObject[] = [];
    for await (const some of listObjects(this.#client, folder)) objects.push(...some);
    const names = objects.map(({ name }) => name.slice(folder.length)).sort();
    const changedAt = Date.now() - Math.min(...objects.map(({ ageMs }) => ageMs));
    return { names, changedAt, lastBytes: objects.at(-1)?.size ?? 0 };
  }

  async *ids(): AsyncGenerator<string> {
    await this.#owner.claim();
    let last: string | undefined;
    for await (const objects of listObjects(this.#client, "partial/"))
      for (const { name } of objects) {
        const [, id = ""] = name.split("/");
        if (id !== last) yield id;
        last = id;
      }
  }

  remove(name: string): Promise<void> {
    return removeObject(this.#client, name);
  }

  removeFolder(folder: string): Promise<void> {
    return this.removeOlder(folder, 0);
  }

  async removeOlder(folder: string, olderThanMs: number): Promise<void> {
    for await (const objects of listObjects(this.#client, folder))
      for (const { name, ageMs } of objects)
        if (ageMs >= olderThanMs) await removeObject(this.#client, name);
  }
}
