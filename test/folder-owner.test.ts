// One process owns a data folder: a second one stops with an error, and commands use the owner.
// @process own

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, rmdir, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Restante, restante } from "../src/index.ts";
import { isSecret, newSecret } from "../src/model/secret.ts";
import { defaultConfig } from "../src/server/config.ts";
import { openStore } from "../src/server/open-store.ts";
import { run, type ServerProcess, start } from "./process.ts";
import { isLong } from "./seeds.ts";

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-owner-"));
});
after(() => rm(cwd, { recursive: true }));

const tokenCommand = (data: string, ...args: string[]) =>
  run(["token", ...args, "--data", data], { cwd });

const create = (data: string) => tokenCommand(data, "create", "--name", "ci", "--scope", "admin");

const statusWith = async (url: string, secret: string): Promise<number> =>
  (await fetch(`${url}/-/tokens`, { headers: { authorization: `Bearer ${secret}` } })).status;

async function embeddedStatus(server: Restante, secret: string): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` };
  return (await server.fetch(new Request("http://x/-/tokens", { headers }))).status;
}

async function stop(running: ServerProcess): Promise<void> {
  running.signal("SIGTERM");
  assert.equal((await running.ended).code, 0);
}

async function kill(running: ServerProcess): Promise<void> {
  running.signal("SIGKILL");
  await running.ended;
}

describe("a second server on a data folder", () => {
  let running: ServerProcess;
  before(async () => {
    running = await start(["--data", "one", "--files", "shared"], { cwd });
    await symlink("one", join(cwd, "link"));
  });
  after(() => stop(running));

  for (const [title, ...args] of [
    ["stops and names the first", "--data", "one"],
    ["also with workers", "--data", "one", "--workers", "2"],
    ["also by another path", "--data", "link"],
  ])
    it(title ?? "", async () => {
      const { code, stdout, stderr } = await run(["serve", "--port", "0", ...args], { cwd });
      assert.equal(code, 1);
      assert.equal(stdout, "");
      assert.match(stderr, /^Cannot open the store in \S+(one|link): process \d+ at \S+, since /);
      assert.match(
        stderr,
        new RegExp(`process ${running.pid} at ${running.url}, since 20.* UTC, owns it`),
      );
    });

  it("and an embedding program", async () => {
    const data = join(cwd, "one");
    await assert.rejects(
      restante({ data }),
      new RegExp(`process ${running.pid} at ${running.url}`),
    );
  });

  it("may not share a folder of files with another store", async () => {
    const args = ["serve", "--port", "0", "--data", "b", "--files", "shared"];
    const { code, stderr } = await run(args, { cwd });
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`process ${running.pid} `));
  });

  it("stops also while the first is stalled, and starts when it was killed; commands work in both cases", async () => {
    const first = await start(["--data", "stalled"], { cwd });
    first.signal("SIGSTOP");
    const listed = await tokenCommand("stalled", "list");
    assert.match(listed.stdout, /first admin/);
    const { code, stderr } = await run(["serve", "--port", "0", "--data", "stalled"], { cwd });
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`process ${first.pid} `));
    await kill(first);
    assert(existsSync(join(cwd, "stalled", "restante.sock")));
    const ignoring = await create("stalled");
    assert.equal(ignoring.code, 0, ignoring.stderr);
    const second = await start(["--data", "stalled"], { cwd });
    assert.equal((await create("stalled")).code, 0);
    await stop(second);
  });
});

describe("an embedding program", () => {
  it("owns its folder until it closes, also within one process", async () => {
    const data = join(cwd, "embedded");
    const first = await restante({ data });
    await assert.rejects(restante({ data }), /owns it/);
    await assert.rejects(openStore({ ...defaultConfig, data }), /owns it/);
    await first.close();
    assert.deepEqual(
      (await readdir(data)).filter((name) => /owner|sock/.test(name)),
      [],
    );
    await (await restante({ data })).close();
  });

  it("releases the folder when it cannot start", async () => {
    const data = join(cwd, "undefined");
    const collections = join(cwd, "definitions");
    await mkdir(collections);
    writeFileSync(join(collections, "people.json"), "{");
    await assert.rejects(restante({ data, collections }), /people\.json/);
    await (await restante({ data })).close();
  });

  it("releases the folder when nothing in it can be removed", async () => {
    const data = join(cwd, "read-only");
    const server = await restante({ data });
    for (const name of ["restante.owner", "restante.sock"]) {
      await rm(join(data, name));
      await mkdir(join(data, name));
    }
    await server.close();
    for (const name of ["restante.owner", "restante.sock"]) await rmdir(join(data, name));
    await (await restante({ data })).close();
  });

  it("accepts tokens from commands", async () => {
    const data = join(cwd, "embedded-tokens");
    const server = await restante({ data });
    const { code, stdout, stderr } = await create(data);
    assert.equal(code, 0, stderr);
    assert.equal(await embeddedStatus(server, stdout.trimEnd()), 200);
    await server.close();
  });
});

describe("commands", () => {
  it("write through the owner, or directly when there is none, also when many run at once", async () => {
    const data = join(cwd, "commanded");
    const created = async () => {
      const made = await Promise.all([1, 2, 3].map(() => create(data)));
      for (const { code, stderr } of made) assert.equal(code, 0, stderr);
      return made.map(({ stdout }) => stdout.trimEnd());
    };
    await mkdir(data);
    const alone = await created();
    assert(alone.every((secret) => isSecret(secret)));
    const running = await start(["--data", data], { cwd });
    const socket = join(data, "restante.sock");
    assert.equal(statSync(socket).mode & 0o777, 0o600);
    const through = await created();
    for (const secret of [...alone, ...through])
      assert.equal(await statusWith(running.url, secret), 200);
    await stop(running);
    assert(!existsSync(socket));
    const again = await restante({ data });
    for (const secret of through) assert.equal(await embeddedStatus(again, secret), 200);
    await again.close();
  });

  it("work through the first of many processes", async () => {
    const running = await start(["--data", "many", "--workers", "2"], { cwd });
    const { stdout } = await create("many");
    for (let turn = 0; turn < 6; turn++)
      assert.equal(await statusWith(running.url, stdout.trimEnd()), 200);
    await stop(running);
  });

  it("work where the path is too long for a socket, and leave no temporary files", async () => {
    const long = await mkdtemp(join(cwd, "temporary-"));
    const environment = { TMPDIR: long };
    const data = join(cwd, "d".repeat(200));
    const running = await start(["--data", data], { cwd, environment });
    const args = ["token", "create", "--data", data, "--name", "x", "--scope", "admin"];
    const { stdout } = await run(args, { cwd, environment });
    assert.equal(await statusWith(running.url, stdout.trimEnd()), 200);
    assert.equal(statSync(join(data, "restante.sock")).mode & 0o777, 0o600);
    await stop(running);
    assert(!existsSync(join(data, "restante.sock")));
    assert.deepEqual(await readdir(long), []);
  });

  it("that write report an owner that is stalled", {
    skip: !isLong && "takes seconds",
  }, async () => {
    const running = await start(["--data", "silent"], { cwd });
    running.signal("SIGSTOP");
    const { code, stdout, stderr } = await create("silent");
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, new RegExp(`process ${running.pid} at ${running.url}.* owns it`));
    running.signal("SIGCONT");
    assert.equal((await create("silent")).code, 0);
    await stop(running);
  });

  it("that read do not change the store, and create none", async () => {
    const data = join(cwd, "read");
    const adminToken = newSecret();
    const environment = { RESTANTE_ADMIN_TOKEN: adminToken };
    await (await restante({ data, adminToken })).close();
    const database = readFileSync(join(data, "restante.db"));
    for (const command of [["token", "list"], ["types"]])
      assert.equal((await run([...command, "--data", data], { cwd, environment })).code, 0);
    assert.deepEqual(readFileSync(join(data, "restante.db")), database);
    await mkdir(join(cwd, "bare"));
    const { code, stderr } = await tokenCommand("bare", "list");
    assert.equal(code, 1);
    assert.match(stderr, /^There is no store in /);
    assert.deepEqual(await readdir(join(cwd, "bare")), []);
  });

  it("reject an owner of another version", async () => {
    const data = join(cwd, "other");
    await (await restante({ data })).close();
    const owner = createServer((socket) => socket.write('{"kind":"hello","version":"9.9.9"}\n'));
    owner.listen(join(data, "restante.sock"));
    await once(owner, "listening");
    const { code, stderr } = await create(data);
    assert.equal(code, 1);
    assert.match(stderr, /is version 9\.9\.9, and this command is version /);
    owner.close();
  });
});
