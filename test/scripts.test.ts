// The scripts in package.json: the Node version that they need, portability, signals, and what their set-up says.
// @runtimes only bun

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { scripts, engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-scripts-"));
});
after(() => rm(folder, { recursive: true, force: true }));

describe("package.json", () => {
  it("has the Node version that importing the package needs", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    assert.ok("bun" in dependencies, "the command needs no Node of its own");
    assert.equal(engines.node, ">=24");
  });

  it("has scripts that cmd.exe can run: programs, flags and && only", () => {
    for (const [name, script] of Object.entries<string>(scripts))
      for (const command of script.split(" && ")) {
        assert.match(command, /^(node|bun|npm|biome|tsc|restante) [\w./: -]+$/, name);
      }
  });

  for (const script of ["start", "start:node"])
    it(`npm run ${script} serves, and a signal to npm stops the server`, async () => {
      const args = ["run", script, "--", "--port", "0", "--data", join(folder, script)];
      const env = { ...process.env };
      // Tests may run inside npm themselves.
      for (const key of Object.keys(env)) if (key.startsWith("npm_")) delete env[key];
      const child = spawn("npm", args, { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      const closed = once(child.stdout, "close");
      while (!text.includes('"listening"') && child.exitCode === null) await sleep(20);
      child.kill("SIGTERM");
      // The server has our end of the pipe: it closes when the last of the processes has ended.
      await closed;
      assert.match(text, /"stopped"\}\n$/);
    });
});

describe("scripts/setup.js", {
  skip: process.platform === "win32" && "it starts a shell script",
}, () => {
  const node = join(root, "node_modules/.bin/node");
  let clone: string;
  const at = (...path: string[]) => join(clone, ...path);

  /** Stands for Bun, and builds nothing. */
  const bun = `#!/bin/sh\nmkdir -p dist/console dist/bun; touch dist/console dist/bun/main.js; echo "$1" >> built\nexit\n${"#".repeat(1_000_001)}`;
  const packages = { "": {}, "node_modules/a": { version: "2.0.0" } };
  /** Stands for npm, which says more than anyone wants to read. */
  const npm = `
    import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
    console.log("added 2 packages");
    console.error("npm warn EBADENGINE Unsupported engine");
    rmSync("node_modules", { recursive: true, force: true });
    for (const name of ["a", ".bin"]) mkdirSync("node_modules/" + name, { recursive: true });
    writeFileSync("node_modules/a/package.json", "{}");
    writeFileSync("node_modules/.bin/bun", ${JSON.stringify(bun)});
    chmodSync("node_modules/.bin/bun", 0o755);
    writeFileSync("node_modules/.package-lock.json", ${JSON.stringify(JSON.stringify({ packages }))});
    if (process.argv[2] !== "ci") process.exit(1);`;

  before(async () => {
    clone = join(folder, "clone");
    for (const name of ["scripts", "console", "client", "src", "npm"])
      await mkdir(at(name), { recursive: true });
    await cp(join(root, "scripts/setup.js"), at("scripts/setup.js"));
    for (const name of ["console", "bundle"]) await writeFile(at(`scripts/${name}.js`), "");
    await writeFile(at("package.json"), '{"type":"module"}');
    await writeFile(at("package-lock.json"), JSON.stringify({ packages }));
    await writeFile(at("npm/npm-cli.js"), npm);
  });

  function setUp() {
    const env = { npm_execpath: at("npm/npm-cli.js"), npm_node_execpath: node };
    const options = {
      cwd: clone,
      env: { PATH: process.env.PATH, ...env },
      encoding: "utf8",
    } as const;
    const { status, stdout, stderr } = spawnSync(node, ["scripts/setup.js"], options);
    return { status, stdout, stderr };
  }
  const quiet = { status: 0, stdout: "", stderr: "" };
  const installs = { ...quiet, stderr: "Setting up: npm installs Restante, once…\n" };

  const states: Readonly<Record<string, () => Promise<void>>> = {
    "nothing is installed": async () => {},
    "an install was stopped": () => rm(at("node_modules/.package-lock.json")),
    "the removal of packages was stopped": () => rm(at("node_modules/a"), { recursive: true }),
    "another version is installed": () =>
      writeFile(
        at("node_modules/.package-lock.json"),
        JSON.stringify({ packages: { "node_modules/a": { version: "1.0.0" } } }),
      ),
    "a program is missing": () => rm(at("node_modules/.bin/bun")),
    "a program was not downloaded": () => writeFile(at("node_modules/.bin/bun"), "placeholder"),
  };
  for (const [state, spoil] of Object.entries(states))
    it(`installs with one line when ${state}, and then no more`, async () => {
      await spoil();
      assert.deepEqual(setUp(), installs);
      assert.deepEqual(setUp(), quiet);
    });

  it("replaces a link that leads nowhere, without a word", async () => {
    await rm(at("node_modules/.bin/restante"));
    await symlink("../nowhere", at("node_modules/.bin/restante"));
    assert.deepEqual(setUp(), quiet);
    assert.equal(await readlink(at("node_modules/.bin/restante")), "../../bin/restante");
  });

  it("builds again what is older than its sources, without a word", async () => {
    await rm(at("built"));
    const later = new Date(Date.now() + 60_000);
    await utimes(at("src"), later, later);
    assert.deepEqual(setUp(), quiet);
    assert.equal(await readFile(at("built"), "utf8"), `${at("scripts/bundle.js")}\n`);
  });

  it("shows what npm has said when it fails", async () => {
    await rm(at("node_modules"), { recursive: true });
    await writeFile(at("npm/npm-cli.js"), 'console.error("npm error code E500"); process.exit(1);');
    const { status, stderr } = setUp();
    assert.equal(status, 1);
    assert.match(stderr, /npm could not install the packages:\n\nnpm error code E500/);
  });
});
