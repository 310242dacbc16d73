// Backups in a bucket: made, checked, restored, pruned, killed, damaged and locked.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { BucketLock } from "../../src/backup/bucket-lock.ts";
import { S3Client } from "../../src/store/s3/client.ts";
import { commandLine, firstToken, run, type ServerProcess, start } from "../process.ts";
import { itLong } from "../short-run.ts";
import { locationOf, quick } from "../store/s3/open.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";

let s3: S3Server;
let folder: string;
let server: ServerProcess;
const large = 9_000_000;

before(async () => {
  s3 = await S3Server.start();
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  server = await start(["--data", join(folder, "data")], { cwd: folder });
  for (const size of [0, 1, 5_000, large]) await upload(size);
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  await s3.destroy();
  await rm(folder, { recursive: true, force: true });
});

async function upload(size: number): Promise<void> {
  const body = new FormData();
  body.append("file", new Blob([`${size % 7}`.repeat(size)]), "a.bin");
  const headers = { authorization: `Bearer ${firstToken(server)}` };
  const response = await fetch(`${server.url}/docs`, { method: "POST", headers, body });
  assert.equal(response.status, 201);
}

const surroundings = () => ({ cwd: folder, environment: { ...secrets, HOME: folder } });
const restante = (...args: readonly string[]) => run(args, surroundings());
const backUp = (prefix: string, ...more: readonly string[]) =>
  restante("backup", "--data", "data", "--to", s3.url(prefix), ...more);
const check = (prefix: string) => restante("restore", "--check", "--from", s3.url(prefix));

/** The files of a data folder, with their bytes. */
async function filesOf(name: string): Promise<ReadonlyMap<string, Buffer>> {
  const root = join(folder, name, "files");
  const found = new Map<string, Buffer>();
  for (const path of (await readdir(root, { recursive: true })).toSorted())
    if (/^..\/.{30}$/.test(path)) found.set(path, await readFile(join(root, path)));
  return found;
}

const client = (prefix: string) =>
  new S3Client(locationOf(s3.url(prefix)), { ...secrets, HOME: "/nonexistent" }, quick);

describe("a backup in a bucket", () => {
  it("is restored, and the next one writes what is new and deletes what is old", async () => {
    const first = await backUp("one", "--json");
    assert.equal(first.code, 0, first.stderr);
    const { files, writtenBytes } = JSON.parse(first.stdout);
    assert.equal(files, 4);
    assert.ok(writtenBytes > large);
    const restored = await restante("restore", "--from", s3.url("one"), "--data", "restored");
    assert.equal(restored.code, 0, restored.stderr);
    assert.deepEqual(await filesOf("restored"), await filesOf("data"));
    await upload(77);
    const second = await backUp("one", "--json", "--keep", "0s");
    const made = JSON.parse(second.stdout);
    assert.equal(made.files, 5);
    assert.ok(made.writtenBytes < 10_000, `${made.writtenBytes} bytes were written`);
    assert.equal(made.pruned.backups, 1);
    assert.equal((await s3.keys("one/backups/")).length, 1);
    assert.deepEqual(await s3.keys("one/restante.lock/"), []);
    const checked = await check("one");
    assert.equal(checked.code, 0, checked.stderr);
    assert.match(checked.stdout, /is complete: 5 resources and 5 files/);
  });

  itLong("goes on after it was killed, and leaves no upload in parts", async () => {
    const [program, ...words] = commandLine;
    const args = ["backup", "--data", "data", "--to", s3.url("killed")];
    const child = spawn(program, [...words, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...secrets, HOME: folder },
      stdio: "ignore",
    });
    s3.fault = ({ url = "" }) => {
      // The second part never gets an answer.
      if (!url.includes("partNumber=2")) return false;
      child.kill("SIGKILL");
      return true;
    };
    await once(child, "exit");
    s3.fault = () => false;
    assert.equal((await s3.uploads()).length, 1);
    assert.notEqual((await check("killed")).code, 0);
    const locked = await backUp("killed");
    assert.equal(locked.code, 1);
    assert.match(locked.stderr, /another process is writing a backup to s3:.*5 minutes/);
    for (const key of await s3.keys("killed/restante.lock/")) await s3.age(key, 6 * 60_000);
    const made = await backUp("killed");
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(await s3.uploads(), []);
    assert.deepEqual(await s3.keys("killed/restante.lock/"), []);
    assert.equal((await check("killed")).code, 0);
  });

  itLong("that is damaged is found, and mended by --verify", async () => {
    assert.equal((await backUp("damaged")).code, 0);
    const keys = await s3.keys("damaged/objects/");
    const path = s3.pathOf(keys.find((key) => !key.endsWith(".zst")) ?? "");
    await writeFile(path, "other bytes");
    const found = await check("damaged");
    assert.equal(found.code, 1);
    assert.match(found.stderr, /is damaged|shorter/);
    assert.equal((await backUp("damaged", "--verify")).code, 0);
    assert.equal((await check("damaged")).code, 0);
    await rm(path);
    assert.match((await check("damaged")).stderr, /the backup has no objects\//);
  });

  it("fails in one line when S3 fails, in a place of others, and without backups", async () => {
    s3.fault = ({ method }, response) => {
      if (method !== "PUT") return false;
      response.writeHead(507).end("<Error><Code>QuotaExceeded</Code></Error>");
      return true;
    };
    const full = await backUp("full");
    s3.fault = () => false;
    assert.equal(full.code, 1);
    assert.match(full.stderr, /^The backup failed: the storage of the bucket .* is full.*\n$/m);
    assert.match((await check("full")).stderr, /s3:\/\/restante-test\/full\/ has no backups/);
    await client("taken").call({ method: "PUT", name: "notes", body: Buffer.from("x") });
    const taken = await backUp("taken");
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /has other objects: choose another prefix/);
    const within = await backUp("place/inner", "--files", s3.url("place"));
    assert.equal(within.code, 1);
    assert.match(within.stderr, /a backup must be somewhere else/);
    const wrong = await restante("backup", "--data", "data", "--to", "s3://a:b@bucket");
    assert.equal(wrong.code, 2);
  });
});

describe("the lock of a bucket", () => {
  it("is of one process, and of the next one when it is not renewed", async () => {
    const take = () => BucketLock.tryTake(client("lock"));
    const taken = await Promise.all([take(), take(), take()]);
    const [first, ...others] = taken.filter((lock) => lock !== undefined);
    assert.ok(first);
    assert.deepEqual(others, []);
    await first.requireHeld();
    for (const key of await s3.keys("lock/")) await s3.age(key, 6 * 60_000);
    const next = (await Promise.all([take(), take()])).filter((lock) => lock !== undefined);
    assert.equal(next.length, 1);
    await assert.rejects(first.requireHeld(), /another process has begun/);
    await first.release();
    await next[0]?.requireHeld();
    await next[0]?.release();
    assert.deepEqual(await s3.keys("lock/"), []);
  });
});
