// Resumable uploads on real processes: killed at any moment, with several workers, and by a public client.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { cp, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type OnSuccessPayload, Upload } from "tus-js-client";
import { newSecret } from "../../src/model/secret.ts";
import { PostgresServer } from "../postgres-server.ts";
import { type ServerProcess, start } from "../process.ts";
import { newSeed, randomNumbers, runs, within } from "../seeds.ts";
import { itOn } from "../short-run.ts";
import { passTurns } from "../turns-of.ts";
import { hashOf, type Shown } from "./multipart.ts";
import { at, last, more, partial, sendPart, UploadClient } from "./upload-client.ts";

const patience = within(300_000);
const png = { "content-type": "image/png" };
const secret = newSecret();
const authorization = `Bearer ${secret}`;

/** A server that can be killed and started again on the same data. */
class Restarted {
  readonly folder: string;
  readonly #args: readonly string[];
  #process: ServerProcess | undefined;

  constructor(folder: string, args: readonly string[]) {
    this.folder = folder;
    this.#args = args;
  }

  async start(): Promise<void> {
    this.#process = await start(["--data", join(this.folder, "data"), ...this.#args], {
      cwd: this.folder,
      environment: { RESTANTE_ADMIN_TOKEN: secret },
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#process?.signal(signal);
    await this.#process?.ended;
  }

  get port(): number {
    return this.#process?.port ?? 0;
  }

  get url(): string {
    return this.#process?.url ?? "";
  }

  /** A new connection for each request, so that any worker may get it. */
  request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("authorization", authorization);
    headers.set("connection", "close");
    return fetch(this.url + path, { ...init, headers });
  }

  async total(collection: string): Promise<number> {
    return ((await (await this.request(`/${collection}`)).json()) as { total: number }).total;
  }

  async assertStored(body: string, bytes: Uint8Array): Promise<void> {
    const { file } = JSON.parse(body) as { file: Shown };
    const back = new Uint8Array(await (await this.request(file.url)).arrayBuffer());
    assert.equal(hashOf(back), hashOf(bytes));
  }

  partial(): Promise<readonly string[]> {
    return readdir(join(this.folder, "data", "files", "partial"));
  }

  /** Resolves when the sweep after the start has removed what the killed process left. */
  async swept(): Promise<void> {
    while ((await this.partial()).length > 0) await sleep(5);
  }

  directoryOf(path: string): string {
    return join(this.folder, "data", "files", "partial", path.split("/").at(-1) ?? "");
  }

  /** The names of what is stored of the upload; an empty text when it is removed. */
  pieces(path: string): string {
    try {
      return readdirSync(this.directoryOf(path)).join();
    } catch {
      return "";
    }
  }

  /** How many bytes of the upload are written. */
  written(path: string): number {
    const directory = this.directoryOf(path);
    const pieces = readdirSync(directory).filter((name) => name.endsWith(".data"));
    return pieces.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  }
}

async function withServer(args: readonly string[], test: (server: Restarted) => Promise<void>) {
  const server = new Restarted(await mkdtemp(join(tmpdir(), "restante-resumed-")), args);
  try {
    await server.start();
    const define = { method: "PUT", headers: { "content-type": "application/json" }, body: "{}" };
    await server.request("/-/collections/scans", define);
    await test(server);
  } finally {
    await server.end("SIGKILL");
    await rm(server.folder, { recursive: true, force: true });
  }
}

for (const engine of ["sqlite", "postgres"])
  describe(`an upload on ${engine}`, () => {
    const it = itOn(engine);
    let postgres: PostgresServer | undefined;
    before(async () => {
      postgres = engine === "postgres" ? await PostgresServer.shared() : undefined;
    });
    after(() => postgres?.close());
    const args = async () =>
      postgres === undefined ? [] : ["--store", await postgres.preparedDatabase()];

    it("goes on after its server was killed", patience, async () =>
      withServer(await args(), async (server) => {
        const uploads = new UploadClient(server);
        const bytes = randomBytes(500_000);
        const path = await uploads.begin("/scans", png, bytes.subarray(0, 100_000));
        const length = { "content-length": "400000" };
        const headers = { ...partial, ...last, ...at(100_000), ...length, authorization };
        const sent = bytes.subarray(100_000, 350_000);
        const wire = await sendPart(server.port, ["PATCH", path], headers, sent);
        while (server.written(path) < 350_000) await sleep(5);
        await server.end("SIGKILL");
        wire.destroy();
        await server.start();
        assert.equal(await uploads.offset(path), 350_000);
        const done = await uploads.patch(path, 350_000, bytes.subarray(350_000), last);
        assert.equal(done.status, 201, done.body);
        await server.assertStored(done.body, bytes);
        assert.deepEqual(await server.partial(), []);
      }),
    );

    it("creates one resource, whenever the server is killed at its end", patience, async () =>
      withServer(await args(), async (server) => {
        const uploads = new UploadClient(server);
        const random = randomNumbers(newSeed("killed at the end of an upload"));
        const count = runs(2, 20);
        const steps = ["sent", "begun", "removed", "answered"] as const;
        for (let run = 0; run < count; run++) {
          const path = await uploads.begin("/scans", png, randomBytes(300_000));
          const before = server.pieces(path);
          let isAnswered = false;
          const ending = uploads
            .patch(path, 300_000, new Uint8Array(), last)
            .catch(() => undefined)
            .finally(() => {
              isAnswered = true;
            });
          const step = steps[Math.floor(random() * steps.length)];
          const isThere = () =>
            (step === "begun" && server.pieces(path) !== before) ||
            (step === "removed" && server.pieces(path) === "");
          await passTurns();
          while (step !== "sent" && !isAnswered && !isThere()) await passTurns(1);
          await server.end("SIGKILL");
          await ending;
          await server.start();
          const state = await uploads.send("HEAD", path);
          assert.equal(state.headers.get("upload-offset"), "300000");
          if (state.headers.get("upload-complete") === "?1") continue;
          const again = await uploads.patch(path, 300_000, new Uint8Array(), last);
          assert.equal(again.status, 201, again.body);
        }
        assert.equal(await server.total("scans"), count);
        await server.swept();
      }),
    );

    it("leaves no bytes when its server is killed before it has removed them", patience, async () =>
      withServer(await args(), async (server) => {
        const uploads = new UploadClient(server);
        const path = await uploads.begin("/scans", png, randomBytes(300_000));
        const [directory, copy] = [server.directoryOf(path), join(server.folder, "copy")];
        await cp(directory, copy, { recursive: true });
        const done = await uploads.patch(path, 300_000, new Uint8Array(), last);
        assert.equal(done.status, 201, done.body);
        await server.end("SIGKILL");
        await rename(copy, directory);
        await server.start();
        await server.swept();
        const state = await uploads.send("HEAD", path);
        assert.equal(state.headers.get("upload-complete"), "?1");
        assert.equal(await server.total("scans"), 1);
      }),
    );
  });

describe("an upload with several workers", () => {
  it("goes to any of them, cut or not", patience, () =>
    withServer(["--workers", "2"], async (server) => {
      const uploads = new UploadClient(server);
      const random = randomNumbers(newSeed("uploads with workers"));
      const below = (limit: number) => Math.floor(random() * limit);
      for (let run = 0; run < runs(2, 20); run++) {
        const bytes = randomBytes(100_000 + below(900_000));
        const path = await uploads.begin("/scans", png);
        for (;;) {
          const offset = await uploads.offset(path);
          const end = Math.min(bytes.length, offset + 1 + below(bytes.length / 2));
          const piece = bytes.subarray(offset, end);
          if (random() < 0.5) {
            // It hangs until a later request ends it, most likely in the other process.
            const length = { "content-length": String(piece.length + 1) };
            const headers = { ...partial, ...more, ...at(offset), ...length, authorization };
            await sendPart(server.port, ["PATCH", path], headers, piece);
            await passTurns(below(30));
            continue;
          }
          const isLast = end === bytes.length;
          const answer = await uploads.patch(path, offset, piece, isLast ? last : more);
          if (!isLast || answer.status === 409) continue;
          assert.equal(answer.status, 201, answer.body);
          await server.assertStored(answer.body, bytes);
          break;
        }
      }
      assert.deepEqual(await server.partial(), []);
    }),
  );
});

/** Passes bytes on to a server, and cuts a connection after so many of them. */
async function cutting(port: number, cuts: number[]): Promise<Server> {
  const proxy = createServer((client: Socket) => {
    const server = connect(port, "127.0.0.1");
    let count = 0;
    const end = () => [client, server].map((socket) => socket.destroy());
    client.on("data", (chunk: Buffer) => {
      count += chunk.length;
      if (count < (cuts[0] ?? Number.POSITIVE_INFINITY)) return void server.write(chunk);
      cuts.shift();
      end();
    });
    server.on("data", (chunk) => client.write(chunk));
    for (const socket of [client, server]) socket.on("close", end).on("error", end);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return proxy;
}

describe("tus-js-client with the protocol of the draft", () => {
  it("uploads a file, and resumes it after cuts", patience, () =>
    withServer([], async (server) => {
      const bytes = randomBytes(3_000_000);
      const cuts = [700_000, 900_000, 300_000];
      const proxy = await cutting(server.port, cuts);
      const { port } = proxy.address() as { port: number };
      const location = await new Promise<string>((resolve, reject) => {
        // Its types do not have `protocol`.
        const options = {
          endpoint: `http://127.0.0.1:${port}/scans`,
          protocol: "ietf-draft-05",
          headers: { authorization, ...png },
          chunkSize: 1_000_000,
          retryDelays: [0, 10, 20, 40],
          onError: reject,
          onSuccess: ({ lastResponse }: OnSuccessPayload) =>
            resolve(lastResponse.getHeader("location") ?? ""),
        };

        new Upload(bytes, options).start();
      });
      proxy.close();
      assert.deepEqual(cuts, [], "not all connections were cut");
      const made = await (await server.request(location)).text();
      await server.assertStored(made, bytes);
      assert.equal(JSON.parse(made).file.type, "image/png");
      assert.equal(await server.total("scans"), 1);
      assert.deepEqual(await server.partial(), []);
    }),
  );
});
