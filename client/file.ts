// A file of a resource: sends it with progress, and goes on after a loss; reads and removes it.

import { NoAnswer, Problem } from "./problem.ts";
import { isRepeatedPart } from "./problem-body.ts";
import type { RequestOptions, Sender } from "./send.ts";

export interface UploadOptions extends RequestOptions {
  /** The name of the file; that of a `File` by default. */
  readonly name?: string;
  readonly onProgress?: (sent: number, total: number) => void;
  /** A larger file is sent in parts of this size, each of which is repeated alone; 4 MiB by default. */
  readonly partBytes?: number;
}

/** In a row, without a byte that arrived. */
const mostFailures = 8;

export class CollectionFile {
  readonly path: string;
  readonly #sender: Sender;

  constructor(sender: Sender, path: string) {
    this.#sender = sender;
    this.path = path;
  }

  get url(): string {
    return `${this.#sender.base}${this.path}`;
  }

  async get(options: RequestOptions = {}): Promise<Blob> {
    const request = { method: "GET", path: this.path, ...options };
    return this.#sender.read(request, (response) => response.blob());
  }

  async remove(options: RequestOptions = {}): Promise<void> {
    await this.#sender.send({ method: "DELETE", path: this.path, ...options });
  }

  /** Creates or replaces the file. */
  async put(file: Blob, options: UploadOptions = {}): Promise<void> {
    const { partBytes = 4_194_304, onProgress, signal } = options;
    const headers = { ...headersOf(file, options), ...options.headers };
    if (file.size > partBytes) return this.#putParts(file, { ...options, headers, partBytes });
    await this.#sender.send({ method: "PUT", path: this.path, body: file, headers, signal });
    onProgress?.(file.size, file.size);
  }

  /** Resumable Uploads for HTTP: the request without a byte, then PATCH of what its answer names. */
  async #putParts(
    file: Blob,
    { headers, partBytes, onProgress, signal }: UploadOptions & { readonly partBytes: number },
  ): Promise<void> {
    const announced = { "Upload-Complete": "?0", "Upload-Length": `${file.size}` };
    const path = await this.#sender.read(
      { method: "PUT", path: this.path, headers: { ...headers, ...announced }, signal },
      async (begun) => pathOf(begun.headers.get("location"), this.#sender.base),
    );
    try {
      let failures = 0;
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        onProgress?.(offset, file.size);
        let next = await this.#sendPart(path, file, offset, partBytes, signal);
        if (next instanceof Problem) {
          const isLast = offset + partBytes >= file.size;
          if (++failures > mostFailures || !canPass(next, isLast)) throw next;
          next = await this.#offset(path, signal);
        }
        if (next !== offset) failures = 0;
        offset = next;
      }
    } catch (error) {
      // Nobody can go on with it, and until it lapses it takes room.
      this.#sender.send({ method: "DELETE", path }).catch(() => undefined);
      throw error;
    }
    onProgress?.(file.size, file.size);
  }

  /** Returns the next offset, undefined after the last part, or why it failed. */
  async #sendPart(
    path: string,
    file: Blob,
    offset: number,
    partBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined | Problem> {
    const end = Math.min(offset + partBytes, file.size);
    const isLast = end === file.size;
    const headers = {
      "Content-Type": "application/partial-upload",
      "Upload-Offset": `${offset}`,
      "Upload-Complete": isLast ? "?1" : "?0",
      "Idempotency-Key": undefined,
    };
    try {
      const body = file.slice(offset, end);
      await this.#sender.send({ method: "PATCH", path, headers, body, signal });
      return isLast ? undefined : end;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  /** How much has arrived; undefined when all has. */
  async #offset(path: string, signal: AbortSignal | undefined): Promise<number | undefined> {
    const { headers } = await this.#sender.send({ method: "HEAD", path, signal });
    if (headers.get("upload-complete") === "?1") return undefined;
    return Number(headers.get("upload-offset"));
  }
}

/** A part before the last is in conflict only with a request for the same upload, which the browser may have repeated. */
const canPass = (problem: Problem, isLast: boolean): boolean =>
  problem instanceof NoAnswer ||
  (problem.kind === "conflict" && !isLast) ||
  problem.status >= 500 ||
  problem.status === 429 ||
  isRepeatedPart(problem.kind);

/** The path from the base URL, as requests have it. */
function pathOf(location: string | null, base: string): string {
  if (location === null) throw new TypeError("There is no Location.");
  const { pathname } = new URL(location, base);
  const prefix = new URL(base).pathname.replace(/\/$/, "");
  return pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
}

function headersOf(file: Blob, { name }: UploadOptions): Record<string, string> {
  const known = name ?? ("name" in file && typeof file.name === "string" ? file.name : undefined);
  return {
    "Content-Type": file.type || "application/octet-stream",
    ...(known !== undefined && {
      "Content-Disposition": `inline; filename*=UTF-8''${encodeURIComponent(known).replaceAll("'", "%27")}`,
    }),
  };
}
