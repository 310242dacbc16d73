// The npm package: packed, installed into an empty project, started and embedded.
// @runtimes only node

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { packages } from "../src/lib/program.ts";
import { readTar } from "../src/lib/tar.ts";
import { newSecret } from "../src/model/secret.ts";
import { install, npm, packInto } from "./npm-package.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const tools = join(root, "node_modules/.bin");
const project = mkdtempSync(join(tmpdir(), "restante-package-"));
after(() => rmSync(project, { recursive: true }));

const skip = "bun" in process.versions ? "once is enough: it runs under Node" : packAndInstall();

/** Returns the reason why the rest cannot be tested, if there is one. */
function packAndInstall(): string | false {
  const packed = packInto(project, "restante");
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
  return install(project, packed);
}

/** The names and the bytes of the files in a tarball, in an order that does not depend on who packed it. */
async function filesIn(tarball: Uint8Array): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for await (const { name, bytes } of readTar(Readable.from([gunzipSync(tarball)])))
    files.set(name, hash("sha256", Buffer.concat(await Array.fromAsync(bytes))));
  return new Map([...files].sort());
}

const bin = "node_modules/restante/bin/restante.js";

/** Starts a server and gives the URL from its log line. */
async function start(
  program: string,
  args: readonly string[],
  env = {},
): Promise<[ChildProcess, string]> {
  const all = [...args, "serve", "--port", "0", "--host", "127.0.0.1"];
  const child = spawn(program, all, { cwd: project, env: { ...process.env, ...env } });
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    const url = /"url":"(?<url>[^"]+)"/.exec(text)?.groups?.url;
    if (url !== undefined) return [child, url];
  }
  throw new Error(`it ended: ${text}`);
}

async function untilDown(url: string): Promise<void> {
  for (;;) {
    const isUp = await fetch(`${url}/-/health`).then(
      () => true,
      () => false,
    );
    if (!isUp) return;
    await sleep(50);
  }
}

const check = (name: string, act: () => void | Promise<void>) => it(name, { skip }, act);

describe("the packed package", () => {
  check("contains the program and its documentation, and nothing else", () => {
    const files = readdirSync(join(project, "node_modules/restante")).sort();
    const allowed = [
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "bin",
      "dist",
      "package.json",
      "templates",
    ];
    assert.deepEqual(
      files.filter((file) => !allowed.includes(file)),
      [],
    );
  });

  check("is what `restante new` packs without npm, and so is the client", async () => {
    packInto(project, "restante-client");
    for (const name of ["restante", "restante-client"]) {
      const file = `${name}-${version}.tgz`;
      const packed = await filesIn(readFileSync(join(project, file)));
      assert.deepEqual(await filesIn(packages().get(file) ?? assert.fail(file)), packed);
    }
  });

  check("npx restante --version", () => {
    const { stdout, status } = npm(project, ["exec", "--", "restante", "--version"]);
    assert.deepEqual([status, stdout], [0, `${version}\n`]);
  });

  check("passes exit codes on", () => {
    const { status, stderr } = spawnSync(process.execPath, [bin, "serve", "--port", "x"], {
      cwd: project,
      encoding: "utf8",
    });
    assert.match(stderr, /^--port "x": must be/);
    assert.equal(status, 2);
  });

  check("npx restante serve works, and stops with npx", async () => {
    const [child, url] = await start("npx", ["restante"]);
    const health = await fetch(`${url}/-/health`);
    assert.equal(health.status, 200);
    const ended = once(child, "close");
    child.kill("SIGTERM");
    await ended;
    await untilDown(url);
  });

  for (const runtime of ["bun", "node"]) {
    check(`on ${runtime}, a signal drains the server and its exit code is passed on`, async () => {
      const [child, url] = await start(process.execPath, [bin], { RESTANTE_RUNTIME: runtime });
      assert.equal((await fetch(`${url}/-/health`)).status, 200);
      child.kill("SIGTERM");
      assert.deepEqual(await once(child, "close"), [0, null]);
      await untilDown(url);
    });

    check(`runs an action that imports it on ${runtime}`, async () => {
      const folder = join(project, "actions");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }');
      writeFileSync(
        join(folder, "greet.ts"),
        `import { defineAction } from "restante";
        export default defineAction({ description: "Greets.", input: {}, run: (): object => ({ hello: 1 }) });`,
      );
      const secret = newSecret();
      const env = { RESTANTE_ACTIONS: folder, RESTANTE_ADMIN_TOKEN: secret };
      const data = { RESTANTE_DATA: join(project, `acting-${runtime}`), RESTANTE_RUNTIME: runtime };
      const [child, url] = await start(process.execPath, [bin], { ...env, ...data });
      const answer = await fetch(`${url}/-/actions/greet`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: "{}",
      });
      assert.deepEqual([answer.status, await answer.json()], [200, { hello: 1 }]);
      child.kill("SIGTERM");
      assert.deepEqual(await once(child, "close"), [0, null]);
    });

    check(`is embedded on ${runtime}`, () => {
      writeFileSync(
        join(project, "embed.js"),
        `import { restante } from "restante";
        const { fetch, firstAdminToken, close } = await restante({ data: "./embedded-${runtime}" });
        const headers = { authorization: "Bearer " + firstAdminToken, "content-type": "application/json" };
        const body = '{"name":"Ada"}';
        const made = await fetch(new Request("http://x/people", { method: "POST", headers, body }));
        const found = await fetch(new Request("http://x" + made.headers.get("location"), { headers }));
        console.log(made.status, found.status, (await found.json()).name);
        await close();`,
      );
      const { stdout, stderr } = spawnSync(join(tools, runtime), ["embed.js"], {
        cwd: project,
        encoding: "utf8",
      });
      assert.equal(stdout, "201 200 Ada\n", stderr);
    });
  }

  check("exits with its parent on Bun, even one that was killed", async () => {
    const [child, url] = await start(process.execPath, [bin]);
    child.kill("SIGKILL");
    await untilDown(url);
  });
});
