// The command `copy` between files on disk and on S3, while S3 fails, and back.
// @tier all

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { firstToken, run, start } from "../process.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";

let s3: S3Server;
let folder: string;
const inFolder = (name: string) => join(folder, name);

before(async () => {
  s3 = await S3Server.start();
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  const server = await start(["--data", inFolder("data")], { cwd: folder });
  const authorization = `Bearer ${firstToken(server)}`;
  for (let n = 0; n < 5; n++) {
    const body = new FormData();
    // The last one is sent in parts.
    body.append("file", new Blob([`${n}`.repeat(n === 4 ? 9_000_000 : n)]), "a.bin");
    const init = { method: "POST", headers: { authorization }, body };
    assert.equal((await fetch(`${server.url}/docs`, init)).status, 201);
  }
  server.signal("SIGTERM");
  await server.ended;
});
after(async () => {
  s3.fault = () => false;
  await s3.destroy();
  await rm(folder, { recursive: true, force: true });
});

const environment = () => ({ ...secrets, HOME: folder });
const copy = (...args: readonly string[]) =>
  run(["copy", ...args], { cwd: folder, environment: environment() });

/** The files of a data folder, with their bytes. */
async function filesOf(path: string): Promise<ReadonlyMap<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const root = join(path, "files");
  for (const name of (await readdir(root, { recursive: true })).toSorted())
    if (/^..\/.{30}$/.test(name)) found.set(name, await readFile(join(root, name)));
  return found;
}

describe("a copy", () => {
  it("moves files to a bucket and back, and goes on after an outage", async () => {
    const there = ["--from", "data", "--to", "there", "--to-files", s3.url("copy")];
    let puts = 0;
    s3.fault = ({ method }, response) => {
      if (method !== "PUT" || ++puts < 3) return false;
      response.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
      return true;
    };
    const failed = await copy(...there);
    assert.equal(failed.code, 1, failed.stderr);
    assert.match(failed.stderr, /^The copy failed: the credentials do not allow .*run the same/m);
    s3.fault = () => false;
    const made = await copy(...there);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^Copied 5 resources in 1 collection, 1 token and 5 files/m);
    const keys = await s3.keys("copy/files/");
    assert.equal(keys.length, 5, [...keys, ...s3.requests].join("\n"));
    const back = await copy(...["--from", "there", "--from-files", s3.url("copy"), "--to", "back"]);
    assert.equal(back.code, 0, back.stderr);
    assert.deepEqual(await filesOf(inFolder("back")), await filesOf(inFolder("data")));
    assert.equal((await filesOf(inFolder("back"))).size, 5);
  });

  it("refuses two stores in one place of a bucket, and URLs that are wrong", async () => {
    const [from, to] = [s3.url("copy"), s3.url("copy/inner")];
    const same = await copy(
      ...["--from", "there", "--from-files", from, "--to", "no", "--to-files", to],
    );
    assert.equal(same.code, 1);
    assert.match(same.stderr, /^The copy failed: .* overlap: choose another/m);
    const wrong = await copy("--from", "data", "--to", "no", "--to-files", "s3://a:b@bucket/x");
    assert.equal(wrong.code, 2, wrong.stderr);
    assert.match(wrong.stderr, /--to-files: must be .* without credentials/);
    const other = await run(
      ["copy", "--from", "data", "--to", "no", "--to-files", s3.url("none")],
      { cwd: folder, environment: { HOME: folder } },
    );
    assert.equal(other.code, 1, other.stderr);
    assert.match(other.stderr, /^The copy failed: .*credentials/m);
  });
});
