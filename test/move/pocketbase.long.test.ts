// examples/move/from-pocketbase.js with the real PocketBase, which Go builds once.
// With RESTANTE_RECORD=1 it writes pocketbase.json: the answers that npm test has instead.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { freePort } from "../deploy/free-port.ts";
import { findGoProgram } from "../go-program.ts";
import { startApp } from "../http/app.ts";
import { assertMoved, fillPocketBase, moveFromPocketBase, superuser } from "./pocketbase.ts";
import type { Answer } from "./pocketbase-answers.ts";

/** PocketBase as a program is one of the examples of its module. The page names the version. */
const source = "github.com/pocketbase/pocketbase/examples/base@v0.40.4";
const program = findGoProgram(source);
const skip = program === undefined && "POCKETBASE MISSING: Go cannot build it";

describe("from PocketBase", () => {
  it("moves collections, records and files", { skip }, async () => {
    assert.ok(program);
    const folder = await mkdtemp(join(tmpdir(), "restante-move-"));
    const at = ["--dir", join(folder, "pb_data")];
    const { identity, password } = superuser;
    spawnSync(program, ["superuser", "upsert", identity, password, ...at], { stdio: "inherit" });
    const address = `127.0.0.1:${await freePort()}`;
    const server = spawn(program, ["serve", "--http", address, ...at]);
    const app = await startApp();
    try {
      const origin = `http://${address}`;
      await announced(server.stdout, origin);
      await fillPocketBase(origin);
      const recorder = await record(origin);
      await assertMoved(await moveFromPocketBase(recorder.url, app), app);
      await assertMoved(await moveFromPocketBase(origin, app), app);
      await recorder.stop();
    } finally {
      server.kill();
      await app.stop();
      await rm(folder, { recursive: true });
    }
  });
});

async function announced(output: NodeJS.ReadableStream, origin: string): Promise<void> {
  for await (const line of createInterface({ input: output })) if (line.includes(origin)) return;
  throw new Error("PocketBase did not start");
}

/** Leaves out what the script does not read: settings of mails and of signing in. */
const withoutSettings = (name: string, value: unknown) =>
  /Template$|Token$|^(?:authAlert|mfa|oauth2|otp|passwordAuth)$/.test(name) ? undefined : value;

/** Passes requests on, and keeps the answers. */
async function record(origin: string) {
  const answers: Record<string, Answer> = {};
  const proxy = createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request);
    const { authorization = "", "content-type": contentType = "" } = request.headers;
    const answer = await fetch(origin + request.url, {
      method: request.method ?? "GET",
      headers: { authorization, ...(contentType && { "content-type": contentType }) },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const type = answer.headers.get("content-type") ?? "";
    const { pathname, search } = new URL(request.url ?? "", origin);
    const key = `${request.method} ${pathname}${search.replace(/token=.*/, "token=secret")}`;
    const text = bytes.toString().replace(/"token":"[^"]*"/, '"token":"secret"');
    answers[key] = type.includes("json")
      ? { type, body: JSON.parse(text, withoutSettings) }
      : { type, base64: bytes.toString("base64") };
    response.writeHead(answer.status, { "content-type": type }).end(bytes);
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    stop: async () => {
      proxy.close();
      if (process.env.RESTANTE_RECORD === undefined) return;
      const file = new URL("pocketbase.json", import.meta.url);
      await writeFile(file, `${JSON.stringify(answers, undefined, 2)}\n`);
    },
  };
}
