// Uploads bytes of unknown length: small ones in one request, others in parts, with one part in memory.

import { createHash } from "node:crypto";
import { FileOutage } from "../../model/outage.ts";
import type { SavedFile } from "../files.ts";
import type { S3Client } from "./client.ts";
import { elementOf, incompleteAnswer } from "./errors.ts";
import { abortUpload, ifNone, putObject, removeObject, stateOf } from "./objects.ts";

const mebi = 1024 * 1024;

/** S3 takes 10,000 parts at most, so the parts of a very large file are larger. */
const partBytes = (number: number): number => (number <= 1_000 ? 5 : 64) * mebi;

export interface UploadOptions {
  readonly maxBytes: number;
  /** Whether an object with this name is an error. */
  readonly isNew: boolean;
}

/** Leaves nothing behind when the source fails, or when there are more bytes than `maxBytes`. */
export async function upload(
  client: S3Client,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  { maxBytes, isNew }: UploadOptions,
): Promise<Omit<SavedFile, "key"> | "too-large"> {
  const parts = new Parts(client, name, isNew);
  const hash = createHash("sha256");
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > maxBytes) break;
      hash.update(chunk);
      await parts.add(chunk);
    }
    if (size > maxBytes) {
      await parts.abandon();
      return "too-large";
    }
    await parts.finish();
    return { size, sha256: hash.digest("hex") };
  } catch (error) {
    await parts.abandon();
    throw error;
  }
}

class Parts {
  readonly #client: S3Client;
  readonly #name: string;
  readonly #isNew: boolean;
  readonly #etags: string[] = [];
  #buffer = new Uint8Array();
  #bytes = 0;
  #size = 0;
  #uploadId: string | undefined;
  #isPut = false;

  constructor(client: S3Client, name: string, isNew: boolean) {
    this.#client = client;
    this.#name = name;
    this.#isNew = isNew;
  }

  async add(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.byteLength > 0; ) {
      const limit = partBytes(this.#etags.length + 1);
      const piece = rest.subarray(0, limit - this.#bytes);
      rest = rest.subarray(piece.byteLength);
      this.#reserve(this.#bytes + piece.byteLength, limit);
      this.#buffer.set(piece, this.#bytes);
      this.#bytes += piece.byteLength;
      if (this.#bytes === limit) await this.#send();
    }
  }

  /** A small file takes little memory. */
  #reserve(bytes: number, limit: number): void {
    const { byteLength } = this.#buffer;
    if (bytes <= byteLength) return;
    const grown = Math.min(limit, Math.max(bytes, 2 * byteLength));
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(grown));
  }

  /** What arrives meanwhile waits in the buffers of the system. The buffer of the part is used again. */
  async #send(): Promise<void> {
    this.#uploadId ??= await this.#begin();
    await this.#put(this.#buffer.subarray(0, this.#bytes), this.#uploadId);
    this.#size += this.#bytes;
    this.#bytes = 0;
  }

  async #begin(): Promise<string> {
    const query = { uploads: "" };
    const body = new Uint8Array();
    const root = "InitiateMultipartUploadResult";
    const request = { method: "POST", name: this.#name, query, body, root } as const;
    const uploadId = elementOf((await this.#client.call(request)).text, "UploadId");
    if (uploadId === undefined) throw incompleteAnswer();
    return uploadId;
  }

  async #put(body: Uint8Array, uploadId: string): Promise<void> {
    const query = { partNumber: String(this.#etags.length + 1), uploadId };
    const { headers } = await this.#client.call({ method: "PUT", name: this.#name, query, body });
    this.#etags.push(headers.get("etag") ?? "");
  }

  get #headers(): Readonly<Record<string, string>> {
    return this.#isNew ? ifNone : {};
  }

  async finish(): Promise<void> {
    if (this.#uploadId === undefined) return this.#putWhole();
    if (this.#bytes > 0) await this.#send();
    await this.#complete(this.#uploadId);
    // The garbage collector may take long to do so.
    this.#buffer.buffer.transfer(0);
  }

  async #putWhole(): Promise<void> {
    this.#isPut = true;
    this.#size = this.#bytes;
    const body = this.#buffer.subarray(0, this.#bytes);
    if (!(await putObject(this.#client, this.#name, body, this.#headers))) await this.#checkSize();
  }

  async #complete(uploadId: string): Promise<void> {
    const parts = this.#etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
    const place = { name: this.#name, query: { uploadId } };
    const root = "CompleteMultipartUploadResult";
    const request = { method: "POST", ...place, root, body: Buffer.from(xml) } as const;
    const allowed = [404, 412, 501];
    const { status } = await this.#client.call({ ...request, headers: this.#headers, allowed });
    if (status === 501) await this.#client.call(request);
    else if (status >= 400) await this.#checkSize();
  }

  /** Names are random: an object that is there was written by an attempt whose answer was lost. */
  async #checkSize(): Promise<void> {
    const state = await stateOf(this.#client, this.#name);
    if (state?.size !== this.#size)
      throw new FileOutage("unavailable", `S3 has lost the upload of ${this.#name}`);
  }

  /** What cannot be removed now is removed by the sweep. */
  async abandon(): Promise<void> {
    if (this.#uploadId !== undefined)
      await abortUpload(this.#client, this.#name, this.#uploadId).catch(() => undefined);
    // An attempt whose answer was lost may have written the object.
    if (this.#isNew && (this.#isPut || this.#uploadId !== undefined))
      await removeObject(this.#client, this.#name).catch(() => undefined);
  }
}
