// Sends signed requests to a bucket, with deadlines, and again after errors that pass.

import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import { FileOutage, type Outage } from "../../model/outage.ts";
import { type BucketAddress, bucketAddressOf } from "./bucket-address.ts";
import { type Credentials, type Environment, findCredentials } from "./credentials.ts";
import { type Failure, failureOf, incompleteAnswer, networkOutage, outageOf } from "./errors.ts";
import type { S3Location } from "./location.ts";

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** The key below the prefix. Undefined for the bucket itself. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Statuses that the caller expects, in addition to a success. */
  readonly allowed?: readonly number[];
  /** The element that a success has. An answer that is cut may look complete, but not have its end. */
  readonly root?: string;
}

/** An answer that was read to its end. */
export interface S3Response {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface S3Timing {
  /** How long an answer may take, after the request is sent. */
  readonly deadlineMs: number;
  /** How long a body may pause. */
  readonly idleMs: number;
  readonly attempts: number;
  /** The first pause before another attempt; each next one is twice as long. */
  readonly pauseMs: number;
}

const defaultTiming: S3Timing = {
  deadlineMs: 10_000,
  idleMs: 30_000,
  attempts: 4,
  pauseMs: 100,
};

/** A body is sent at 100 KB a second at least. */
const slowestBytesPerMs = 100;
const credentialsMs = 60_000;

interface Rejected {
  readonly outage: Outage;
  readonly isPassing: boolean;
}

export class S3Client {
  readonly address: BucketAddress;
  readonly timing: S3Timing;
  readonly #environment: Environment;
  /** The keys of signatures, which are the same for a day. */
  readonly #cache = new Map<string, ArrayBuffer>();
  #credentials: Credentials;
  #readAt = performance.now();

  /** Throws when there are no credentials. */
  constructor(location: S3Location, environment: Environment, timing = defaultTiming) {
    this.address = bucketAddressOf(location, environment);
    this.timing = timing;
    this.#environment = environment;
    this.#credentials = findCredentials(environment);
  }

  /** For requests with a short answer. */
  async call(request: S3Request): Promise<S3Response> {
    return this.#attempt(request, async (response) => {
      const { status, headers } = response;
      const text = await response.text();
      // A long write can fail after S3 has sent its status. What is read can have any text.
      const isLate = request.method !== "GET" && status === 200 && text.includes("<Error>");
      if (isLate || (status === 404 && text.includes("NoSuchBucket")))
        return this.#reject(failureOf({ status: isLate ? 500 : status, headers }, text));
      if (response.ok && request.root !== undefined && !text.includes(`</${request.root}>`))
        return { outage: incompleteAnswer(), isPassing: true };
      return { status, headers, text };
    });
  }

  /** Resolves with a body that is not read yet. `abort` ends the request. */
  async open(request: S3Request, abort: AbortController): Promise<Response> {
    return this.#attempt(request, async (response) => ({ response }), abort).then(
      ({ response }) => response,
    );
  }

  /** Returns a URL that reads one object without credentials, for a while. */
  async presign(name: string, query: Readonly<Record<string, string>>): Promise<string> {
    const url = this.#urlOf({ method: "GET", name, query });
    const { url: signed } = await this.#signer({ method: "GET", url, signQuery: true }).sign();
    // Signatures are made of %20, and not every server takes a plus sign for it.
    return signed.toString().replaceAll("+", "%20");
  }

  async #attempt<T extends object>(
    request: S3Request,
    read: (response: Response) => Promise<T | Rejected>,
    abort = new AbortController(),
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const result = await this.#try(request, read, abort);
      if (!isRejected(result)) return result;
      if (attempt >= this.timing.attempts || !result.isPassing || abort.signal.aborted)
        throw result.outage;
      await wait(this.timing.pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
    }
  }

  async #try<T extends object>(
    request: S3Request,
    read: (response: Response) => Promise<T | Rejected>,
    abort: AbortController,
  ): Promise<T | Rejected> {
    const deadline = new AbortController();
    const ms = this.timing.deadlineMs + (request.body?.byteLength ?? 0) / slowestBytesPerMs;
    const timer = setTimeout(() => deadline.abort(new DOMException("", "TimeoutError")), ms);
    try {
      const response = await this.#fetch(request, AbortSignal.any([abort.signal, deadline.signal]));
      const isExpected = response.ok || request.allowed?.includes(response.status) === true;
      if (isExpected) return await read(response);
      return this.#reject(failureOf(response, await response.text().catch(() => "")));
    } catch (error) {
      if (error instanceof FileOutage) throw error;
      return { outage: networkOutage(this.address, error), isPassing: true };
    } finally {
      clearTimeout(timer);
    }
  }

  #reject(failure: Failure): Rejected {
    const { status, code } = failure;
    const isPassing =
      status >= 500 ? status !== 501 && status !== 507 : status === 429 || status === 409;
    const outage = outageOf(this.address, failure);
    return { outage, isPassing: isPassing || code === "RequestTimeout" };
  }

  async #fetch(request: S3Request, signal: AbortSignal): Promise<Response> {
    const { method, body } = request;
    const headers = new Headers(request.headers);
    // The signature covers the hash, and S3 compares it with what arrives.
    if (body !== undefined) headers.set("x-amz-content-sha256", hashOf(body));
    if (body !== undefined) headers.set("content-length", String(body.byteLength));
    const url = this.#urlOf(request);
    const signed = await this.#signer({ method, url, headers }).sign();
    return fetch(signed.url.toString().replaceAll("+", "%20"), {
      method,
      headers: signed.headers,
      redirect: "manual",
      signal,
      ...(body !== undefined && { body: streamOf(body), duplex: "half" }),
    } as RequestInit);
  }

  #signer(options: {
    readonly method: string;
    readonly url: string;
    readonly headers?: Headers;
    readonly signQuery?: boolean;
  }): AwsV4Signer {
    this.#renew();
    const { accessKeyId, secretAccessKey, sessionToken } = this.#credentials;
    return new AwsV4Signer({
      service: "s3",
      region: this.address.region,
      cache: this.#cache,
      accessKeyId,
      secretAccessKey,
      ...options,
      ...(sessionToken !== undefined && { sessionToken }),
    });
  }

  /** Another program may write new credentials to the files before the old ones expire. */
  #renew(): void {
    if (performance.now() - this.#readAt < credentialsMs) return;
    this.#readAt = performance.now();
    try {
      this.#credentials = findCredentials(this.#environment);
    } catch {
      // A file that is just being written is read the next time.
    }
  }

  #urlOf({ name, query }: S3Request): string {
    const { url, prefix } = this.address;
    const target = new URL(name === undefined ? url : `${url}/${prefix}${name}`);
    for (const key in query) target.searchParams.set(key, query[key] ?? "");
    return target.toString();
  }
}

const isRejected = <T extends object>(result: T | Rejected): result is Rejected =>
  "outage" in result;

/** fetch would copy a whole buffer, and leave the copies to the garbage collector. */
function streamOf(body: Uint8Array): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream(
    {
      pull(controller) {
        const piece = body.subarray(start, start + pieceBytes);
        start += piece.byteLength;
        if (piece.byteLength > 0) controller.enqueue(piece);
        if (start >= body.byteLength) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const pieceBytes = 65_536;

export const hashOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");
