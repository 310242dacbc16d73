// An S3 server for tests: s3rver behind a server of our own that adds what s3rver lacks, and makes faults.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";

/** Returns true when it has answered the request, or will do so. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean;

/** s3rver knows these. */
export const secrets = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" };
export const bucket = "restante-test";

export class S3Server {
  readonly #folder: string;
  readonly #handle: (request: IncomingMessage, response: ServerResponse) => void;
  readonly #sockets = new Set<Socket>();
  readonly #writing = new Set<string>();
  readonly #writes = new Map<string, Promise<unknown>>();
  #server: Server | undefined;
  #port = 0;
  /** Makes requests fail. */
  fault: Fault = () => false;
  /** What was requested: method, path and query. */
  readonly requests: string[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
    const s3rver = new S3rver({
      directory: folder,
      silent: true,
      configureBuckets: [{ name: bucket }],
      allowMismatchedSignatures: false,
    });
    makeAtomic(s3rver);
    this.#handle = s3rver.callback();
    this.#ready = s3rver.configureBuckets();
  }

  readonly #ready: Promise<unknown>;

  static async start(): Promise<S3Server> {
    const server = new S3Server(await mkdtemp(join(tmpdir(), "restante-s3-")));
    await server.#ready;
    await server.listen();
    return server;
  }

  /** Listens, at the same port as before. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => this.#answer(request, response));
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Refuses connections from now on. */
  async stop(): Promise<void> {
    const closed = this.#server && once(this.#server, "close");
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async destroy(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  url(prefix: string): string {
    return `s3://${bucket}/${prefix}?endpoint=${this.endpoint}`;
  }

  /** The keys of all objects below a prefix, and the names of uploads in parts. */
  async keys(prefix: string): Promise<readonly string[]> {
    const root = join(this.#folder, bucket);
    const read = () => readdir(root, { recursive: true, withFileTypes: true });
    // A folder may be removed while it is read.
    const entries = await read().catch(read).catch(read);
    const paths = entries.map(({ parentPath, name }) =>
      join(parentPath, name).slice(root.length + 1),
    );
    const suffix = "._S3rver_object";
    const objects = paths.filter((path) => path.endsWith(suffix) && path.startsWith(prefix));
    const uploads = await this.uploads();
    return [
      ...objects.map((path) => path.slice(0, -suffix.length)),
      ...uploads.map(({ key }) => key),
    ]
      .filter((key) => key.startsWith(prefix))
      .sort();
  }

  /** Makes an object as old as this. */
  async age(key: string, ms: number): Promise<void> {
    const time = new Date(Date.now() - ms);
    await utimes(this.pathOf(key), time, time);
  }

  pathOf(key: string): string {
    return join(this.#folder, bucket, `${key}._S3rver_object`);
  }

  get #uploadsFolder(): string {
    return join(this.#folder, bucket, "._S3rver_uploads");
  }

  async uploads(): Promise<
    readonly { readonly id: string; readonly key: string; readonly at: Date }[]
  > {
    if (!existsSync(this.#uploadsFolder)) return [];
    const uploads = await Promise.all(
      (await readdir(this.#uploadsFolder)).map(async (id) => {
        const path = join(this.#uploadsFolder, id, "key");
        try {
          return [{ id, key: await readFile(path, "utf8"), at: (await stat(path)).mtime }];
        } catch {
          // It ends just now.
          return [];
        }
      }),
    );
    return uploads.flat();
  }

  async ageUploads(ms: number): Promise<void> {
    const time = new Date(Date.now() - ms);
    for (const { id } of await this.uploads())
      await utimes(join(this.#uploadsFolder, id, "key"), time, time);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(`${request.method} ${request.url}`);
    if (this.fault(request, response)) return;
    this.#inTurn(request, response)
      .then(() => this.#add(request, response))
      .then(
        (isAnswered) => {
          if (!isAnswered) this.#handle(request, response);
        },
        (error) => response.writeHead(500).end(String(error)),
      );
  }

  /** Waits for the end of a write to the same object, which s3rver would show half done. */
  async #inTurn({ method, url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ""] = url.split("?", 1);
    const before = this.#writes.get(path);
    if (method === "PUT") {
      const closed = once(response, "close");
      this.#writes.set(path, Promise.all([before, closed]));
    }
    await before;
  }

  /** A second write that comes during the first one is a conflict for S3, too. */
  #isFirst(key: string, response: ServerResponse): boolean {
    if (existsSync(this.pathOf(key)) || this.#writing.has(key)) return false;
    this.#writing.add(key);
    response.once("close", () => this.#writing.delete(key));
    return true;
  }

  /** What s3rver lacks: conditional writes, and the list and the end of uploads in parts. */
  async #add(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const url = new URL(request.url ?? "", this.endpoint);
    const key = url.pathname.slice(bucket.length + 2);
    if (request.headers["if-none-match"] === "*" && !this.#isFirst(key, response)) {
      request.resume();
      response.writeHead(412).end("<Error><Code>PreconditionFailed</Code></Error>");
      return true;
    }
    // A copy onto itself makes it new.
    if (request.headers["x-amz-copy-source"] !== undefined && existsSync(this.pathOf(key)))
      await this.age(key, 0);
    const uploadId = url.searchParams.get("uploadId");
    if (request.method === "DELETE" && uploadId !== null) {
      await rm(join(this.#uploadsFolder, uploadId), { recursive: true, force: true });
      response.writeHead(204).end();
      return true;
    }
    if (request.method === "GET" && url.searchParams.has("uploads")) {
      const entries = (await this.uploads()).map(
        ({ id, key: name, at }) =>
          `<Upload><Key>${name}</Key><UploadId>${id}</UploadId><Initiated>${at.toISOString()}</Initiated></Upload>`,
      );
      response.end(`<ListMultipartUploadsResult>${entries.join("")}</ListMultipartUploadsResult>`);
      return true;
    }
    return false;
  }
}

/** An object of S3 is there as a whole or not at all, also when the client ends in between. */
function makeAtomic({ store }: S3rver): void {
  const write = store.putContent.bind(store);
  store.putContent = async (path, content) => {
    const part = `${path}.${randomUUID()}`;
    const written = await write(part, content);
    await rename(part, path);
    return written;
  };
}
