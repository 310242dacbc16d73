// What is acknowledged is on the disk: every written file was synced, and so was the folder of every rename.
// @runtimes both

import assert from "node:assert/strict";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { newSecret } from "../src/model/secret.ts";
import { UploadClient } from "./http/upload-client.ts";
import { childrenOf, commandLine, type ServerProcess, start } from "./process.ts";
import { makeOlder } from "./store/sqlite/older-database.ts";
import { canInject, inDirectory, startChildUnder } from "./store/sqlite/test-directory.ts";
import { tracedBy, unsyncedAtAnswers } from "./traced-writes.ts";

/**
 * Files that a crash may leave as they were: what only running processes use, and the database itself, which
 * the WAL is copied into after the answers.
 */
const isIgnored = (path: string): boolean =>
  /(?:-shm|\/restante\.(?:db|commits|lock(?:-journal)?|owner(?:\.new)?|started|version.*|suspect))$/.test(
    path,
  );

const missing = "strace is not here or not allowed";

describe("a server under strace", () => {
  it("answers no write before all of it is synced", (context) =>
    inDirectory(async (folder) => {
      if (!canInject()) return context.skip(missing);
      const log = join(folder, "log");
      const data = join(folder, "data");
      const secret = newSecret();
      const server = await start(["--data", data], {
        cwd: folder,
        environment: { RESTANTE_ADMIN_TOKEN: secret },
        command: [...tracedBy(log), ...commandLine],
      });
      let reads = 0;
      try {
        reads = await acknowledge(server, secret, data);
      } finally {
        // strace itself does not listen.
        for (const pid of await childrenOf(server.pid)) process.kill(pid, "SIGTERM");
        await server.ended;
      }
      const answers = unsyncedAtAnswers(await readFile(log, "utf8"), data, isIgnored);
      // A read acknowledges nothing: a step of the index may be on its way to the disk.
      const unsynced = answers.toSpliced(writesBeforeReads, reads);
      assert.ok(unsynced.length > 10, `${unsynced.length} answers`);
      assert.deepEqual(
        unsynced.filter((paths) => paths.length > 0),
        [],
      );
    }));

  it("migrates into files that are synced", (context) =>
    inDirectory(async (folder) => {
      if (!canInject()) return context.skip(missing);
      const data = join(folder, "data");
      await mkdir(data);
      await makeOlder(data);
      const log = join(folder, "log");
      const child = startChildUnder(tracedBy(log), "migrate", data);
      assert.equal(await child.gone, 0);
      assert.equal(child.lines.at(-1), "open");
      assert.deepEqual(unsyncedAtAnswers(await readFile(log, "utf8"), data, isIgnored), [[]]);
    }));
});

const writesBeforeReads = 6;

/** Makes one of every kind of answer that acknowledges a write. Returns how often it has read after the first six. */
async function acknowledge(server: ServerProcess, secret: string, data: string): Promise<number> {
  const request = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: { authorization: `Bearer ${secret}`, ...(init.headers as Record<string, string>) },
    });
  const send = async (status: number, method: string, path: string, body?: unknown) => {
    const answer = await request(path, {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    assert.equal(answer.status, status, await answer.text());
  };
  for (let n = 0; n < 3; n++) await send(201, "POST", "/things", { n });
  await send(201, "POST", "/-/tokens", { name: "ann", scopes: ["*:read"] });
  // More than what is indexed with the definition itself.
  const lines = await request("/things", {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: '{"n":1}\n'.repeat(1_000),
  });
  assert.equal(lines.status, 200, await lines.text());
  // Its index is built from what is there; a new plan begins in a commit of its own.
  const defined = await request("/-/collections/things", {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ schema: { properties: { n: { type: "integer" } } }, indexed: ["n"] }),
  });
  assert.ok(defined.ok, await defined.text());
  let reads = 0;
  for (let isBuilt = false; !isBuilt; reads++) {
    const definition = await (await request("/-/collections/things")).json();
    isBuilt = (definition as { readonly build?: unknown }).build === undefined;
  }
  await send(201, "POST", "/things", { n: 3 });
  const form = new FormData();
  form.set("image", new Blob(["bytes of a file"], { type: "text/plain" }), "a.txt");
  const created = await request("/pictures", { method: "POST", body: form });
  assert.equal(created.status, 201, await created.text());
  const client = new UploadClient({ port: server.port, request });
  const headers = { "content-type": "text/plain", "content-disposition": 'inline; filename="b"' };
  const upload = await client.begin("/pictures", headers, Buffer.from("the first "));
  const path = new URL(upload, server.url).pathname;
  assert.equal((await client.patch(path, 10, Buffer.from("and more "))).status, 204);
  const done = await client.patch(path, 19, Buffer.from("of it"), { "upload-complete": "?1" });
  assert.equal(done.status, 201, done.body);
  // The next write finds out, and the database is replaced by a copy; then writes pass again.
  await rm(join(data, "restante.db-shm"));
  await send(503, "POST", "/things", { n: 4 });
  for (let status = 503; status === 503; ) {
    const body = '{"n":4}';
    const headers = { "content-type": "application/json" };
    const answer = await request("/things", { method: "POST", headers, body });
    ({ status } = answer);
    assert.ok(status === 503 || status === 201, await answer.text());
  }
  return reads;
}
