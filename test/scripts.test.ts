// The scripts in package.json: the Node version that they need, portability, and signals.
// @runtimes only bun

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
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
