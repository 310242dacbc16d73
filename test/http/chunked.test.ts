// Chunked requests with errors after the body: a request that gets 400 has changed nothing.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openConnection, send } from "../runtime/raw-connection.ts";
import { runs } from "../seeds.ts";
import { passTurns } from "../turns-of.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client } from "./client.ts";
import { file, filesIn, form, text } from "./multipart.ts";

let app: TestApp;
let client: Client;
let folder: string;
/** For the raw requests, so that they can be found in the log. */
let secret: string;
let adminId: unknown;
let count = 0;
const captured = captureLog();
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ files: folder }, captured.log);
  client = new Client(app);
  secret = await app.token("admin");
  await client.put("/things/a", { n: 0 });
  await captured.settled();
  adminId = captured.lines().at(-1)?.token;
  assert.ok(adminId !== undefined);
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Write {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

const json = "application/json";
const withFile = form([text("a", "1"), file("f", "f", "bytes")]);
const writes: Readonly<Record<string, Write>> = {
  JSON: { method: "POST", path: "/things", type: json, body: '{"a":1}' },
  "a form": {
    method: "POST",
    path: "/things",
    type: "application/x-www-form-urlencoded",
    body: "a=1",
  },
  "a form with a file": {
    method: "POST",
    path: "/things",
    type: withFile.headers["content-type"] ?? "",
    body: withFile.body.toString("latin1"),
  },
  "a file": { method: "POST", path: "/things", type: "image/png", body: "png" },
  "lines together": {
    method: "POST",
    path: "/things?atomic=true",
    type: "application/x-ndjson",
    body: '{"a":1}\n{"a":2}',
  },
  "a batch": {
    method: "POST",
    path: "/-/batch",
    type: json,
    body: '{"operations":[{"method":"POST","path":"/things","body":{}}]}',
  },
  PUT: { method: "PUT", path: "/things/b", type: json, body: '{"n":1}' },
  PATCH: { method: "PATCH", path: "/things/a", type: json, body: '{"n":2}' },
  DELETE: { method: "DELETE", path: "/things/a", type: json, body: "{}" },
};

const headOf = ({ method, path, type }: Write, ...fields: readonly string[]): string =>
  [
    `${method} ${path} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${secret}`,
    `Content-Type: ${type}`,
    "Transfer-Encoding: chunked",
    ...fields,
    "\r\n",
  ].join("\r\n");
const chunkOf = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n`;

/** Resolves when so many of the requests in this file are done; the response may be sent before that. */
async function finished(count: number): Promise<void> {
  const isOurs = ({ token }: { token?: unknown }) => token !== undefined && token !== adminId;
  const isDone = () => captured.lines().filter(isOurs).length >= count;
  while (!isDone()) await sleep(25);
}

/** All that is stored. */
async function state(): Promise<string> {
  const list = await client.get("/things?limit=1000");
  return `${list.body} ${(await filesIn(folder)).length}`;
}

/**
 * The status of the first response, and whether anything changed. A request is not run when its error
 * arrives together with its header section.
 */
async function attempt(segments: readonly string[], halfClose = false, isRun = true) {
  const before = await state();
  const { responses } = await send(app.port, segments, { halfClose });
  const statuses = responses.map(({ status }) => status);
  if (isRun) await finished(++count);
  return { statuses, hasChanged: (await state()) !== before };
}

describe("a chunked request", () => {
  for (const [name, write] of Object.entries(writes)) {
    const { body } = write;

    it(`with trailers in one segment succeeds, or is 400 and changes nothing: ${name}`, async () => {
      for (let run = 0; run < runs(2, 50); run++) {
        await client.put("/things/a", { n: 0 });
        const rest = `${chunkOf(body)}0\r\nX-Checksum: 1\r\n\r\n`;
        for (const segments of [[headOf(write) + rest], [headOf(write), rest]]) {
          const { statuses, hasChanged } = await attempt(segments);
          const [status = 0] = statuses;
          assert.equal(hasChanged, status < 300, `${name} ${statuses}`);
          await client.put("/things/a", { n: 0 });
        }
      }
    });

    it(`with an announced trailer is 400 and changes nothing: ${name}`, async () => {
      await client.put("/things/a", { n: 0 });
      const head = headOf(write, "Trailer: X-Checksum");
      const rest = `${chunkOf(body)}0\r\nX-Checksum: 1\r\n\r\n`;
      for (const segments of [[head + rest], [head, rest]]) {
        const { statuses, hasChanged } = await attempt(segments);
        assert.deepEqual([statuses[0], hasChanged], [400, false], name);
      }
    });

    it(`with an invalid end is 400 and changes nothing: ${name}`, async () => {
      await client.put("/things/a", { n: 0 });
      for (const end of ["0\r\nXX\r\n\r\n", "0\r\nX", "0\r\n\rX", "XX\r\n", "0\nX\r\n\r\n"]) {
        const { statuses, hasChanged } = await attempt(
          [headOf(write) + chunkOf(body) + end],
          ...([true, end === "0\r\nX"] as const),
        );
        assert.deepEqual([statuses[0], hasChanged], [400, false], `${name} ${end}`);
      }
    });

    it(`with a valid end succeeds: ${name}`, async () => {
      await client.put("/things/a", { n: 0 });
      const { statuses, hasChanged } = await attempt([
        headOf(write),
        chunkOf(body).slice(0, -3),
        `${chunkOf(body).slice(-3)}0;last=1\r\n`,
        "\r\n",
      ]);
      assert.ok((statuses[0] ?? 0) < 300 && statuses.length === 1, `${name} ${statuses}`);
      assert.equal(hasChanged, true, name);
    });
  }

  it("with trailers that arrive later is executed once", async () => {
    const write = writes.JSON as Write;
    const total = await app.total("things");
    const wire = await openConnection(app.port);
    wire.write(`${headOf(write)}${chunkOf(write.body)}0\r\n`);
    wire.write("X-Checksum: 1\r\n\r\n");
    assert.equal((await wire.response())?.status, 201);
    await passTurns();
    wire.destroy();
    assert.equal(await app.total("things"), total + 1);
  });
});
