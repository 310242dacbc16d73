// What is built of the server, as `npm start` starts it and as a single executable: its threads, workers, actions and commands.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { version } from "../src/lib/program.ts";
import { buildPackages } from "./npm-package.ts";
import { bundle, childrenOf, firstToken, run, type ServerProcess, start } from "./process.ts";
import { isLong } from "./seeds.ts";
import { describeOn, isShort } from "./short-run.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bun = join(root, "node_modules/.bin/bun");

function build(script: string, ...args: readonly string[]): void {
  const made = spawnSync(bun, [`scripts/${script}.js`, ...args], { cwd: root });
  assert.equal(made.status, 0, `${made.stderr}`);
}

type Program = readonly [string, ...string[]];

function buildExecutable(folder: string): Program {
  buildPackages();
  build("executables", "--out", folder, "here");
  return [join(folder, "restante-here")];
}

function findBundle(): Program {
  buildPackages();
  return [bun, bundle];
}

/** A picture of one pixel. */
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const action = `import { accepted, defineAction } from "restante";
  export default defineAction({
    description: "Says hello.",
    input: { type: "object" },
    run: () => (typeof accepted === "function" ? { hello: "world" } : {}),
  });`;

describeOn("bun", "the bundle", () => testProgram(findBundle, true));
if (!isShort)
  describeOn("bun", "the single executable", () => {
    testProgram(buildExecutable, false);

    it("has the licenses of its parts and a checksum", async () => {
      const folder = mkdtempSync(join(tmpdir(), "restante-executable-"));
      const options = { cwd: folder, command: buildExecutable(folder) };
      const { stdout } = await run(["licenses"], options);
      for (const part of [`Restante ${version}`, "postgres", "preact", "Lucide", "Bun"])
        assert.match(stdout, new RegExp(`^${part}`, "m"));
      const checked = spawnSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: folder });
      assert.equal(String(checked.stdout), "restante-here: OK\n");
      rmSync(folder, { recursive: true });
    });
  });

function testProgram(find: (folder: string) => Program, rendersPictures: boolean): void {
  const cwd = mkdtempSync(join(tmpdir(), "restante-built-"));
  after(() => rmSync(cwd, { recursive: true }));
  const command = find(cwd);
  const options = { cwd, command };

  it("has its version", async () => {
    assert.equal((await run(["--version"], options)).stdout, `${version}\n`);
  });

  it("has the documentation", async () => {
    const { stdout } = await run(["docs", "tls.md#renewal"], options);
    assert.equal(stdout, readFileSync(join(root, "docs/tls.md"), "utf8"));
  });

  it("writes a new app with the packages that it installs", async () => {
    const { code, stderr } = await run(["new", "my-app"], options);
    assert.deepEqual([code, stderr], [0, ""]);
    const { dependencies } = JSON.parse(readFileSync(join(cwd, "my-app/package.json"), "utf8"));
    for (const name of ["restante", "restante-client"]) {
      const file = join(cwd, "my-app", dependencies[name].replace("file:", ""));
      const listed = spawnSync("tar", ["-tzf", file], { encoding: "utf8" }).stdout;
      assert.match(listed, /^package\/dist\/index\.js$/m);
    }
  });

  it("serves with workers, schemas, threads, actions, files and scheduled backups", async () => {
    mkdirSync(join(cwd, "actions"));
    writeFileSync(join(cwd, "actions/hello.ts"), action);
    const flags = ["--workers", "2", "--actions", "actions"];
    const running = await start([...flags, "--backup-to", "backups"], options);
    const { request, json } = clientOf(running);
    const schema = { properties: { name: { type: "string", format: "email" } } };
    const pictures = { sizes: [{ width: 20, height: 20 }] };
    const defined = await json("PUT", "/-/collections/people", { schema, pictures });
    assert.equal(defined.status, 201);
    assert.equal((await json("POST", "/people", { name: "nobody" })).status, 400);
    assert.equal((await json("POST", "/people", { name: "ada@example.com" })).status, 201);
    const found = await request("/people?name[contains]=example");
    assert.equal(((await found.json()) as { total: number }).total, 1);
    const said = await json("POST", "/-/actions/hello", {});
    assert.deepEqual(await said.json(), { hello: "world" });
    const form = new FormData();
    form.set("photo", new File([picture], "one.png", { type: "image/png" }));
    const uploaded = await request("/people", { method: "POST", body: form });
    const { photo } = (await uploaded.json()) as { photo: { url: string } };
    const download = await request(photo.url);
    assert.deepEqual(Buffer.from(await download.arrayBuffer()), picture);
    const rendered = await request(`${photo.url}?width=20&height=20`);
    if (rendersPictures) assert.equal(rendered.status, 200);
    else {
      assert.equal(rendered.status, 501);
      assert.match(((await rendered.json()) as { detail: string }).detail, /single executable/);
    }
    assert.match(await (await request("/-/console")).text(), /<script type="module" src="console/);
    while (!running.stdout().includes('"msg":"made a backup"')) await sleep(20);
    assert.equal((await childrenOf(running.pid)).length, 2);
    running.signal("SIGTERM");
    assert.equal((await running.ended).code, 0);
  });

  it("keeps what it has acknowledged when it is killed, and its commands read it", async () => {
    const running = await start(["--data", "killed"], options);
    const { json } = clientOf(running);
    const { status, headers } = await json("POST", "/notes", { text: "kept" });
    assert.equal(status, 201);
    running.signal("SIGKILL");
    await running.ended;
    const found = await run(["doctor", "--data", "killed"], options);
    assert.equal(found.code, 0, found.stdout + found.stderr);
    const what = ["--data", "killed", "--collection", "notes", "--to", "-"];
    const exported = await run(["export", ...what], options);
    assert.equal(exported.code, 0, exported.stderr);
    assert.equal(JSON.parse(exported.stdout).id, headers.get("location")?.split("/").at(-1));
  });

  const files = [
    "main",
    "workers",
    "backup/commands",
    "cli/commands",
    "doctor/commands",
    "copy/commands",
  ];
  for (const file of isLong && command.length === 1 ? files : [])
    it(`passes test/${file}.test.ts`, () => {
      const args = ["test", `./test/${file}.test.ts`];
      const env = { ...process.env, RESTANTE_TEST_EXECUTABLE: command[0] };
      const tested = spawnSync(bun, args, { cwd: root, env, encoding: "utf8" });
      assert.equal(tested.status, 0, tested.stderr);
    });
}

function clientOf(running: ServerProcess) {
  const authorization = `Bearer ${firstToken(running)}`;
  const request = (path: string, { headers, ...init }: RequestInit = {}): Promise<Response> =>
    fetch(running.url + path, { ...init, headers: { ...headers, authorization } });
  const json = (method: string, path: string, body: unknown): Promise<Response> =>
    request(path, {
      ...{ method, body: JSON.stringify(body) },
      headers: { "content-type": "application/json" },
    });
  return { request, json };
}
