// The source of a stream: a byte range of an object, read on from where a connection broke.

import { setTimeout as wait } from "node:timers/promises";
import { FileOutage, Outage } from "../../model/outage.ts";
import type { S3Client } from "./client.ts";
import { networkOutage } from "./errors.ts";

/** The runtimes have different types for it. */
interface SourceReader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

export class ObjectSource {
  readonly #client: S3Client;
  readonly #name: string;
  readonly #end: number;
  #position: number;
  #failures = 0;
  #abort = new AbortController();
  #reader: SourceReader | undefined;

  constructor(client: S3Client, name: string, start: number, end: number) {
    this.#client = client;
    this.#name = name;
    this.#position = start;
    this.#end = end;
  }

  /** Returns false when the object does not exist. Rejects when it is shorter. */
  async open(): Promise<boolean> {
    const [first, last] = [this.#position, this.#end - 1];
    this.#abort = new AbortController();
    // An empty range cannot be asked for.
    const isEmpty = last < first;
    const response = await this.#client.open(
      {
        method: isEmpty ? "HEAD" : "GET",
        name: this.#name,
        ...(!isEmpty && { headers: { range: `bytes=${first}-${last}` } }),
        allowed: [404, 416],
      },
      this.#abort,
    );
    if (response.status === 404) return this.#missing(response);
    if (isEmpty) return true;
    // Content-Length has been sent already: the client must not mistake a part for the whole file.
    if (lengthFrom(response, first) < this.#end - first) {
      this.#abort.abort();
      throw new Outage("damaged", "a file on S3 is shorter than its recorded size: restore it");
    }
    this.#reader = response.body?.getReader();
    return true;
  }

  async #missing(response: Response): Promise<false> {
    const text = await response.text().catch(() => "");
    if (text.includes("NoSuchBucket"))
      throw new FileOutage("unavailable", `there is no bucket ${this.#client.address.bucket}`);
    return false;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    for (;;) {
      if (this.#position >= this.#end) {
        await this.cancel();
        return controller.close();
      }
      const chunk = (await this.#next())?.subarray(0, this.#end - this.#position);
      if (chunk === undefined || chunk.byteLength === 0) continue;
      this.#position += chunk.byteLength;
      this.#failures = 0;
      controller.enqueue(chunk);
      return;
    }
  }

  async cancel(): Promise<void> {
    this.#abort.abort();
    await this.#reader?.cancel().catch(() => undefined);
  }

  /** Returns undefined when the connection broke and the object is opened again. */
  async #next(): Promise<Uint8Array | undefined> {
    const timer = setTimeout(() => this.#abort.abort(), this.#client.timing.idleMs);
    try {
      const result = await this.#reader?.read();
      if (result?.value !== undefined) return result.value;
      throw new Error("the connection ended early");
    } catch (error) {
      await this.#reopen(error);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  async #reopen(cause: unknown): Promise<void> {
    this.#abort.abort();
    const { attempts, pauseMs } = this.#client.timing;
    if (++this.#failures >= attempts) throw networkOutage(this.#client.address, cause);
    await wait(pauseMs * this.#failures);
    if (!(await this.open()))
      throw new Outage("unavailable", "a file was removed while it was being read");
  }
}

/** How many bytes come from this position on. Not every server reads every range right. */
function lengthFrom({ status, headers }: Response, first: number): number {
  const start =
    status === 206 ? Number(/^bytes (\d+)-/.exec(headers.get("content-range") ?? "")?.[1]) : 0;
  const length = Number(headers.get("content-length") ?? Number.POSITIVE_INFINITY);
  return status < 400 && start === first ? length : 0;
}
