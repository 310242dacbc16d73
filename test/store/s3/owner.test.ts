// One store for each prefix of a bucket: the first one has it, also after a copy, a restoration and an outage.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FileOutage } from "../../../src/model/outage.ts";
import { newSecret } from "../../../src/model/secret.ts";
import type { Files } from "../../../src/store/files.ts";
import { OtherStore } from "../../../src/store/s3/owner.ts";
import { openS3 } from "../../../src/store/s3/s3.ts";
import { run, start } from "../../process.ts";
import { isLong } from "../../seeds.ts";
import { describeOn } from "../../short-run.ts";
import { bytesOf, inChunks } from "../disk/file-helpers.ts";
import { locationOf, quick } from "./open.ts";
import { S3Server, secrets } from "./s3-server.ts";

let s3: S3Server;
let folder: string;
before(async () => {
  s3 = await S3Server.start();
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
after(async () => {
  await s3.destroy();
  await rm(folder, { recursive: true, force: true });
});

const openFor = (prefix: string, store?: string): Files =>
  openS3(
    locationOf(s3.url(prefix)),
    { ...secrets, HOME: "/nonexistent" },
    { timing: quick, findStore: store === undefined ? undefined : async () => store },
  );

const save = (files: Files) => files.save(inChunks(bytesOf(10)), 100);
const nothingReferenced = async () => new Set<string>();

describe("a prefix", () => {
  it("belongs to one of several stores that begin at the same time", async () => {
    const stores = ["one", "two", "three", "four"].map((store) => openFor("race/", store));
    const ends = await Promise.allSettled(stores.map((files) => files.claim?.()));
    const reasons = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    assert.equal(reasons.length, 3);
    for (const reason of reasons) assert.ok(reason instanceof OtherStore, `${reason}`);
  });

  it("takes nothing of another store, which removes nothing there", async () => {
    const [own, other] = [openFor("own/", "own"), openFor("own/", "other")];
    const saved = await save(own);
    assert.ok(saved !== "too-large");
    const id = "0".repeat(32);
    const ways: readonly (() => Promise<unknown>)[] = [
      () => save(other),
      () => other.saveAs(saved.key, inChunks(bytesOf(10)), saved.sha256),
      () => other.sweep(nothingReferenced, 0),
      () => other.settleAside(nothingReferenced),
      () => other.partial.create(id, "{}"),
      () => other.partial.sweep(0, 0),
    ];
    for (const way of ways) await assert.rejects(way, OtherStore);
    // Without a store, as a backup opens it, files are only read.
    assert.equal(await openFor("own/").size(saved.key), 10);
    assert.equal(await own.size(saved.key), 10);
    assert.equal((await s3.keys("own/")).length, 2);
  });

  it("is looked at again after an outage, and once when all is well", async () => {
    const files = openFor("outage/", "one");
    s3.fault = (_, response) => {
      response.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
      return true;
    };
    await assert.rejects(
      () => save(files),
      (error) => error instanceof FileOutage && !(error instanceof OtherStore),
    );
    s3.fault = () => false;
    await save(files);
    const from = s3.requests.length;
    await save(files);
    assert.ok(s3.requests.slice(from).every((each) => !each.includes("restante.json")));
  });
});

describeOn("bun", "a server", () => {
  const admin = newSecret();
  const environment = () => ({ ...secrets, HOME: folder, RESTANTE_ADMIN_TOKEN: admin });
  const surroundings = () => ({ cwd: folder, environment: environment() });
  const place = (data: string) => ["--data", data, "--files", s3.url("server/")];
  const stop = async (args: readonly string[], content?: string) => {
    const server = await start(args, surroundings());
    const headers = { authorization: `Bearer ${admin}`, "content-type": "image/png" };
    if (content !== undefined)
      await fetch(`${server.url}/docs`, { method: "POST", headers, body: content });
    server.signal("SIGTERM");
    await server.ended;
  };

  it("does not start in the prefix of another one, and does in that of its copy", async () => {
    await stop(place("one"), "bytes");
    const refused = await run(["serve", "--port", "0", ...place("two")], surroundings());
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(
      refused.stderr,
      /^Cannot start: s3:\/\/restante-test\/server\/ has the files of another store: choose another prefix, or/m,
    );
    const restante = (...args: readonly string[]) => run(args, surroundings());
    const copyTo = (prefix: string) =>
      restante(
        ...["copy", "--from", "one", "--from-files", s3.url("server/")],
        ...["--to", `to-${prefix}`, "--to-files", s3.url(`${prefix}/`)],
      );
    assert.match((await copyTo("own")).stderr, /^The copy failed: s3:.*own\/ has the files of/m);
    if (!isLong) return;
    const copied = await copyTo("copied");
    assert.equal(copied.code, 0, copied.stderr);
    assert.equal((await restante("backup", ...place("one"), "--to", "backups")).code, 0);
    const back = await restante("restore", "--from", "backups", ...place("restored"));
    assert.equal(back.code, 0, back.stderr);
    await stop(place("restored"));
    const wrong = ["--data", "wrong", "--files", s3.url("own/")];
    const rejected = await restante("restore", "--from", "backups", ...wrong);
    assert.equal(rejected.code, 1);
    assert.match(rejected.stderr, /^Nothing was restored: s3:.*own\/ has the files of another/m);
  });
});
