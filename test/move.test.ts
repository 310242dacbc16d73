// examples/move.ts: copies what the API returns completely, and refuses what it would lose.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { startApp, type TestApp } from "./http/app.ts";
import { commandLine } from "./process.ts";

const script = fileURLToPath(new URL("../examples/move.ts", import.meta.url));

let from: TestApp;
let to: TestApp;
before(async () => {
  to = await startApp();
});
after(() => to.stop());
beforeEach(async () => {
  from = await startApp();
});
afterEach(() => from.stop());

const define = async (name: string, definition: object) => {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify(definition);
  const { status } = await from.request(`/-/collections/${name}`, { method: "PUT", headers, body });
  assert.equal(status, 201);
};

async function move() {
  const [program, ...flags] = commandLine;
  const variables = { FROM: from.url, FROM_TOKEN: from.admin, TO: to.url, TO_TOKEN: to.admin };
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(program, [...flags.slice(0, -1), script], {
    env: { PATH, NODE_COMPILE_CACHE, ...variables },
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on("close", resolve)),
  ]);
  return { stdout, stderr, code };
}

/** It ends with words, and the new server has not even the collection. */
async function assertRefused(name: string, words: RegExp): Promise<void> {
  const { code, stderr } = await move();
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^This cannot be copied without losing it:\n/);
  assert.match(stderr, words);
  assert.equal((await to.request(`/-/collections/${name}`)).status, 404);
}

describe("examples/move.ts", () => {
  it("copies resources and definitions, also what only looks like a file", async () => {
    await define("moved", { schema: { properties: { n: { type: "integer" } } } });
    for (let n = 0; n < 120; n++) await from.post("moved", { n });
    const url = "/moved/x/photo";
    const data = { name: "a.png", type: "image/png", size: 1, sha256: "00", url };
    const body = JSON.stringify({ photo: data });
    const headers = { "content-type": "application/json" };
    await from.request("/moved/x", { method: "PUT", headers, body });
    const { code, stdout, stderr } = await move();
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal(stdout, "121 changes copied\n0 changes copied\n");
    assert.equal(await to.total("moved"), 121);
    const copied = (await (await to.request("/moved/x")).json()) as { photo: unknown };
    assert.deepEqual(copied.photo, data);
    const { definition } = (await (await to.request("/-/collections/moved")).json()) as {
      definition: { schema: { properties: unknown } };
    };
    assert.deepEqual(definition.schema.properties, { n: { type: "integer" } });
  });

  it("copies collections that refer to each other, whatever their order", async () => {
    await define("moved-books", {});
    await define("moved-authors", {
      references: { best: { collection: "moved-books", onDelete: "unset" } },
    });
    const headers = { "content-type": "application/json" };
    const references = { author: { collection: "moved-authors", onDelete: "cascade" } };
    const put = (path: string, body: object) =>
      from.request(path, { method: "PUT", headers, body: JSON.stringify(body) });
    assert.equal((await put("/-/collections/moved-books", { references })).status, 200);
    assert.equal((await put("/moved-authors/ada", {})).status, 201);
    assert.equal((await put("/moved-books/notes", { author: "ada" })).status, 201);
    assert.equal((await put("/moved-authors/ada", { best: "notes" })).status, 200);
    const { code, stderr } = await move();
    assert.deepEqual([code, stderr], [0, ""]);
    assert.equal((await to.request("/moved-authors/ada", { method: "DELETE" })).status, 204);
    assert.equal(await to.total("moved-books"), 0);
  });

  it("refuses files, in forms and alone", async () => {
    const form = new FormData();
    form.append("name", "Ada");
    form.append("photos", new Blob(["1"]), "1.png");
    form.append("photos", new Blob(["2"]), "2.png");
    assert.equal((await from.request("/pictures", { method: "POST", body: form })).status, 201);
    await assertRefused("pictures", /^- pictures\/\S+: its files/m);
    const headers = { "content-type": "application/pdf" };
    const made = await from.request("/papers", { method: "POST", headers, body: "%PDF" });
    assert.equal(made.status, 201);
    await assertRefused("papers", /^- papers\/\S+: its files/m);
  });

  it("refuses owners", async () => {
    await define("private", { access: { read: "owner", update: "owner", delete: "owner" } });
    await assertRefused("private", /^- private: which token owns each resource/m);
  });

  it("refuses writeOnly values, at any depth", async () => {
    const password = { type: "string", writeOnly: true };
    const account = { type: "object", properties: { password } };
    await define("accounts", { schema: { properties: { account } } });
    await assertRefused("accounts", /^- accounts: the values of its writeOnly fields/m);
  });
});
