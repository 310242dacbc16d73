// The calls of S3 that files and backups need: read, write, copy, remove and list objects.

import type { S3Client } from "./client.ts";
import { elementOf, elementsOf } from "./errors.ts";
import { ObjectSource } from "./source.ts";

export interface ObjectState {
  readonly size: number;
  /** By the clock of S3. */
  readonly ageMs: number;
}

export interface ListedObject extends ObjectState {
  /** The key below the prefix of the place. */
  readonly name: string;
}

export interface UnfinishedUpload {
  readonly name: string;
  readonly uploadId: string;
  readonly ageMs: number;
}

/** Writes only if there is no such object. */
export const ifNone = { "if-none-match": "*" };

/** Returns undefined when the object does not exist. */
export async function stateOf(client: S3Client, name: string): Promise<ObjectState | undefined> {
  const { status, headers } = await client.call({ method: "HEAD", name, allowed: [404] });
  if (status === 404) return undefined;
  const size = Number(headers.get("content-length") ?? Number.NaN);
  return { size, ageMs: ageOf(headers, headers.get("last-modified") ?? "") };
}

/** A clock of this machine that is wrong must not make new things look old. */
function ageOf(headers: Headers, time: string): number {
  const age = Date.parse(headers.get("date") ?? "") - Date.parse(time);
  // Date has no milliseconds.
  return Number.isNaN(age) ? 0 : Math.max(0, age);
}

/** Returns the bytes from `start` to `end` (exclusive) as a stream, or undefined when the object does not exist. */
export async function readObject(
  client: S3Client,
  name: string,
  start: number,
  end: number,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const source = new ObjectSource(client, name, start, end);
  if (!(await source.open())) return undefined;
  return new ReadableStream(source, { highWaterMark: 0 });
}

/** Reads a small object. Returns undefined when it does not exist. */
export async function readText(client: S3Client, name: string): Promise<string | undefined> {
  const { status, text } = await client.call({ method: "GET", name, allowed: [404] });
  return status === 404 ? undefined : text;
}

/** Returns false when there is such an object already, and the headers say that it stays. */
export async function putObject(
  client: S3Client,
  name: string,
  body: Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const request = { method: "PUT", name, body } as const;
  const { status } = await client.call({ ...request, headers, allowed: [412, 501] });
  if (status !== 501) return status !== 412;
  // A server without conditional writes. Keys are random, so that none is written twice.
  await client.call(request);
  return true;
}

export async function removeObject(client: S3Client, name: string): Promise<void> {
  await client.call({ method: "DELETE", name, allowed: [404] });
}

/** Makes an object new by the clock of S3, which copies it onto itself. Returns false when it does not exist. */
export async function renewObject(client: S3Client, name: string): Promise<boolean> {
  const { bucket, prefix } = client.address;
  const headers = {
    "x-amz-copy-source": `/${bucket}/${prefix}${name}`,
    "x-amz-metadata-directive": "REPLACE",
    "content-type": "application/octet-stream",
  };
  const body = new Uint8Array();
  const root = "CopyObjectResult";
  const request = { method: "PUT", name, headers, body, root, allowed: [404] } as const;
  return (await client.call(request)).status !== 404;
}

/** Yields the objects whose keys begin with this, at most a thousand at once. */
export async function* listObjects(
  client: S3Client,
  start: string,
): AsyncGenerator<readonly ListedObject[]> {
  const { prefix } = client.address;
  let token: string | undefined;
  do {
    const { text, headers } = await client.call({
      method: "GET",
      root: "ListBucketResult",
      query: {
        "list-type": "2",
        prefix: `${prefix}${start}`,
        ...(token !== undefined && { "continuation-token": token }),
      },
    });
    yield [...elementsOf(text, "Contents")].map((entry) => ({
      name: (elementOf(entry, "Key") ?? "").slice(prefix.length),
      size: Number(elementOf(entry, "Size")),
      ageMs: ageOf(headers, elementOf(entry, "LastModified") ?? ""),
    }));
    token = elementOf(text, "NextContinuationToken");
  } while (token !== undefined);
}

/** Yields uploads in parts that were not completed, as far as the server can list them. */
export async function* listUploads(client: S3Client): AsyncGenerator<readonly UnfinishedUpload[]> {
  const { prefix } = client.address;
  let next: Readonly<Record<string, string>> | undefined = {};
  while (next !== undefined) {
    const query: Record<string, string> = { uploads: "", prefix, ...next };
    const root = "ListMultipartUploadsResult";
    const request = { method: "GET", query, root, allowed: [501] } as const;
    const { status, text, headers } = await client.call(request);
    if (status === 501) return;
    yield [...elementsOf(text, "Upload")].map((entry) => ({
      name: (elementOf(entry, "Key") ?? "").slice(prefix.length),
      uploadId: elementOf(entry, "UploadId") ?? "",
      ageMs: ageOf(headers, elementOf(entry, "Initiated") ?? ""),
    }));
    next = nextUploads(text);
  }
}

function nextUploads(text: string): Readonly<Record<string, string>> | undefined {
  if (elementOf(text, "IsTruncated") !== "true") return undefined;
  return {
    "key-marker": elementOf(text, "NextKeyMarker") ?? "",
    "upload-id-marker": elementOf(text, "NextUploadIdMarker") ?? "",
  };
}

export async function abortUpload(client: S3Client, name: string, uploadId: string): Promise<void> {
  await client.call({ method: "DELETE", name, query: { uploadId }, allowed: [404] });
}
