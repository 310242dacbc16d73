// Stores backups in a bucket, with the same names as in a folder. S3 compares each body with its hash.

import type { OpenedFile } from "../store/files.ts";
import type { S3Client } from "../store/s3/client.ts";
import {
  abortUpload,
  listObjects,
  listUploads,
  putObject,
  readObject,
  readText,
  removeObject,
  stateOf,
} from "../store/s3/objects.ts";
import { upload } from "../store/s3/upload.ts";
import { BucketLock } from "./bucket-lock.ts";
import { checkObject, digestOf } from "./digest.ts";
import { folderRecordPath, objectPath, parseRecord, recordPath } from "./folder.ts";
import {
  type BackupRecord,
  type FolderRecord,
  format,
  InvalidBackup,
  inOrder,
} from "./manifest.ts";
import type {
  BackupPlace,
  ObjectReader,
  ObjectWriter,
  OpenFile,
  PlaceLock,
  StoredObject,
  WrittenFile,
} from "./objects.ts";

const objects = "objects/";
const records = "backups/";

export class BackupBucket implements BackupPlace {
  readonly #client: S3Client;
  readonly #label: string;
  #lock: BucketLock | undefined;

  constructor(client: S3Client) {
    this.#client = client;
    this.#label = `s3://${client.address.bucket}/${client.address.prefix}`;
  }

  async lock(): Promise<PlaceLock | undefined> {
    this.#lock = await BucketLock.tryTake(this.#client);
    return this.#lock;
  }

  async open(): Promise<ObjectReader> {
    await this.#readFolderRecord();
    return this.#reader;
  }

  async create(store: string, isVerifying = false): Promise<ObjectWriter> {
    if ((await readText(this.#client, folderRecordPath)) === undefined) await this.#begin(store);
    if ((await this.#readFolderRecord()).store !== store)
      throw new InvalidBackup(
        `${this.#label} has the backups of another store: choose another prefix`,
      );
    await this.#abortUploads();
    const isThere = isVerifying
      ? (name: string) => checkObject(name, this.#reader).then(() => true, isInvalid)
      : async (name: string) => (await stateOf(this.#client, objectPath(name))) !== undefined;
    return new BucketWriter(this.#client, isThere, () => this.#requireLock());
  }

  async removeRecords(old: readonly BackupRecord[]): Promise<void> {
    await this.#requireLock();
    for (const record of old) await removeObject(this.#client, recordPath(record));
  }

  async *objects(): AsyncGenerator<StoredObject> {
    for await (const page of listObjects(this.#client, objects))
      for (const { name, size } of page)
        yield { name: name.slice(objects.length).replace("/", ""), size };
  }

  async removeObject(name: string): Promise<void> {
    await removeObject(this.#client, objectPath(name));
  }

  get #reader(): ObjectReader {
    return {
      read: async (name) => Buffer.from(await new Response(await this.#stream(name)).arrayBuffer()),
      open: (name) => this.#open(name),
      records: () => this.#records(),
    };
  }

  async #open(name: string): Promise<OpenedFile> {
    const { size } = await this.#stateOf(name);
    return { size, bytes: await this.#stream(name, size) };
  }

  async #stream(name: string, size?: number): Promise<ReadableStream<Uint8Array>> {
    const end = size ?? (await this.#stateOf(name)).size;
    return (await readObject(this.#client, objectPath(name), 0, end)) ?? missing(name);
  }

  async #stateOf(name: string): Promise<{ readonly size: number }> {
    return (await stateOf(this.#client, objectPath(name))) ?? missing(name);
  }

  async #records(): Promise<readonly BackupRecord[]> {
    const names: string[] = [];
    for await (const page of listObjects(this.#client, records))
      names.push(...page.map(({ name }) => name));
    const found: BackupRecord[] = [];
    for (const name of names.filter((each) => each.endsWith(".json"))) {
      const text = await readText(this.#client, name);
      if (text !== undefined) found.push(parseRecord(text, `${this.#label}${name}`));
    }
    return inOrder(found);
  }

  async #readFolderRecord(): Promise<FolderRecord> {
    const text = await readText(this.#client, folderRecordPath);
    if (text === undefined) throw new InvalidBackup(`${this.#label} has no backups`);
    return parseRecord(text, `${this.#label}${folderRecordPath}`);
  }

  async #begin(store: string): Promise<void> {
    for await (const page of listObjects(this.#client, ""))
      if (page.some(({ name }) => !name.startsWith("restante.")))
        throw new InvalidBackup(`${this.#label} has other objects: choose another prefix`);
    const folder: FolderRecord = { format, store };
    await putObject(this.#client, folderRecordPath, Buffer.from(`${JSON.stringify(folder)}\n`));
  }

  /** Of a backup that was killed: the lock keeps others away. */
  async #abortUploads(): Promise<void> {
    for await (const page of listUploads(this.#client))
      for (const { name, uploadId } of page)
        if (name.startsWith(objects)) await abortUpload(this.#client, name, uploadId);
  }

  async #requireLock(): Promise<void> {
    await this.#lock?.requireHeld();
  }
}

function isInvalid(error: unknown): false {
  if (error instanceof InvalidBackup) return false;
  throw error;
}

function missing(name: string): never {
  throw new InvalidBackup(`the backup has no ${objectPath(name)}`);
}

class BucketWriter implements ObjectWriter {
  readonly #client: S3Client;
  readonly #isThere: (name: string) => Promise<boolean>;
  readonly #requireLock: () => Promise<void>;
  /** What is known to exist. */
  readonly #names = new Set<string>();

  constructor(
    client: S3Client,
    isThere: (name: string) => Promise<boolean>,
    requireLock: () => Promise<void>,
  ) {
    this.#client = client;
    this.#isThere = isThere;
    this.#requireLock = requireLock;
  }

  async has(name: string): Promise<boolean> {
    if (!this.#names.has(name) && (await this.#isThere(name))) this.#names.add(name);
    return this.#names.has(name);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await putObject(this.#client, objectPath(name), bytes);
    this.#names.add(name);
  }

  /** The name is the hash, so the file is read twice. */
  async writeFile(openSource: OpenFile): Promise<WrittenFile | undefined> {
    const first = await openSource();
    if (first === undefined) return undefined;
    const { sha256, size } = await digestOf(first.bytes);
    if (await this.has(sha256)) return { sha256, size, isNew: false };
    const source = await openSource();
    if (source === undefined) return undefined;
    await this.#upload(sha256, source.bytes);
    return { sha256, size, isNew: true };
  }

  async #upload(sha256: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const name = objectPath(sha256);
    const options = { maxBytes: Number.POSITIVE_INFINITY, isNew: false };
    const saved = await upload(this.#client, name, bytes, options);
    if (saved === "too-large" || saved.sha256 !== sha256) {
      await removeObject(this.#client, name);
      throw new InvalidBackup("a file was read twice, with different bytes: check the disk");
    }
    this.#names.add(sha256);
  }

  async finish(record: BackupRecord): Promise<void> {
    await this.#requireLock();
    const bytes = Buffer.from(`${JSON.stringify(record, undefined, 2)}\n`);
    await putObject(this.#client, recordPath(record), bytes);
  }

  async close(): Promise<void> {
    // Nothing is open, and what is there is used by the next backup.
  }
}
