// A definition whose indexes take long is answered with 202, and the collection shows how far they are.

import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog } from "../../src/server/log.ts";
import { holdBuilds, releaseBuilds } from "../held-builds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";

interface View {
  readonly definition: unknown;
  readonly build?: {
    readonly status: string;
    readonly done: number;
    readonly total: number;
    readonly percent: number;
    readonly errors?: readonly unknown[];
  };
}

let data: string;
/** The file of the log. */
let output: string;
let descriptor: number;
let app: TestApp;
let client: Client;
before(async () => {
  data = await mkdtemp(join(tmpdir(), "restante-"));
  output = join(data, "log");
  descriptor = openSync(output, "w");
  app = await startApp({ data }, createLog("error", descriptor));
  client = new Client(app);
});
after(async () => {
  await app.stop();
  closeSync(descriptor);
  await rm(data, { recursive: true });
});

const hold = (): void => holdBuilds(data);
const release = (): void => releaseBuilds(data);

const count = 1_000;

async function fill(collection: string, numberOf: (n: number) => number, text = ""): Promise<void> {
  const line = (n: number) => `{"n":${numberOf(n)},"text":"${text}"}\n`;
  const lines = Array.from({ length: count }, (_, n) => line(n)).join("");
  const headers = { "content-type": "application/x-ndjson", prefer: "return=minimal" };
  const imported = await client.post(`/${collection}`, lines, headers);
  assert.equal(imported.status, 200, imported.body);
}

const viewOf = (collection: string) => client.json<View>(`/-/collections/${collection}`);

async function ended(collection: string): Promise<View> {
  for (;;) {
    const view = await viewOf(collection);
    if (view.build?.status !== "running") return view;
    await sleep(10);
  }
}

/** On Postgres other statements would hold a build. */
const skip = process.env.RESTANTE_TEST_STORE === "postgres";

describe("an index that takes long", { skip }, () => {
  it("is 202, is used when it is complete, and queries are right meanwhile", async () => {
    await fill("slow", (n) => n);
    hold();
    const answer = await client.put("/-/collections/slow", { unique: ["n"] });
    assert.equal(answer.status, 202, answer.body);
    const { build, definition }: View = JSON.parse(answer.body);
    assert.deepEqual(definition, { unique: ["n"] });
    assert.deepEqual([build?.status, build?.total], ["running", 2 * count]);
    assert.equal((await viewOf("slow")).build?.status, "running");
    const found = await client.json<{ total: number }>("/slow?n[gte]=990");
    assert.equal(found.total, 10);
    // Others write meanwhile.
    assert.equal((await client.post("/slow", { n: 5_000 })).status, 201);
    assert.equal((await client.post("/slow", { n: 5_000 })).status, 409);
    release();
    assert.equal((await ended("slow")).build, undefined);
    assert.equal((await client.json<{ total: number }>("/slow?n[gte]=990")).total, 11);
    assert.equal((await client.post("/slow", { n: 999 })).status, 409);
  });

  it("shows no build while the entries of an index are deleted", async () => {
    await fill("dropped", (n) => n);
    assert.equal((await client.put("/-/collections/dropped", { indexed: ["n"] })).status, 200);
    hold();
    const answer = await client.put("/-/collections/dropped", {});
    assert.equal(answer.status, 200, answer.body);
    assert.equal((await viewOf("dropped")).build, undefined);
    release();
  });

  it("loses only its unique when a stranger makes values clash: access stays restricted", async () => {
    await client.put("/-/collections/twice", { access: { read: "public", create: "public" } });
    // A step indexes 128 KiB, so that the last ones are not prepared while builds are held.
    await fill("twice", (n) => n, "x".repeat(1_000));
    hold();
    const strict = { access: { read: "token", create: "public" }, unique: ["n", "m"] };
    const answer = await client.put("/-/collections/twice", strict);
    assert.equal(answer.status, 202, answer.body);
    const stranger = new Client(app, null);
    assert.equal((await stranger.post("/twice", { n: 999 })).status, 201);
    const tag = await client.tag("/-/collections/twice/definition");
    release();
    const { build, definition } = await ended("twice");
    assert.equal(build?.status, "failed");
    assert.equal(build?.errors?.length, 1);
    assert.deepEqual(definition, { access: strict.access, unique: ["m"], indexed: ["n"] });
    assert.notEqual(await client.tag("/-/collections/twice/definition"), tag);
    assert.equal((await stranger.get("/twice")).status, 401);
    assert.equal((await stranger.get("/twice?n=999")).status, 401);
    while (readFileSync(output, "utf8") === "") await sleep(5);
    const { level, msg } = JSON.parse(readFileSync(output, "utf8"));
    assert.ok(level >= 50);
    assert.match(msg, /^the values of n in twice are not unique/);
  });
});
