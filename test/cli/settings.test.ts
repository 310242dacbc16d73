// `restante settings`: what a server would have, the schema of the file, faults; and the log of a server on a terminal.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { newSecret } from "../../src/model/secret.ts";
import { settings } from "../../src/server/config.ts";
import { childrenOf, commandLine, run } from "../process.ts";

let cwd: string;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "restante-settings-"));
});
after(() => rm(cwd, { recursive: true, force: true }));

describe("restante settings", () => {
  it("warns of a variable that is nearly that of a setting", async () => {
    const environment = { RESTANTE_PROT: "9000", RESTANTE_SERVICE_HOST: "10.0.0.1" };
    const { code, stderr } = await run(["settings"], { cwd, environment });
    const warning = "Warning: RESTANTE_PROT: is not a setting; did you mean RESTANTE_PORT?\n";
    assert.deepEqual([code, stderr], [0, warning]);
  });

  it("prints values with their sources, for people and programs, without secrets", async () => {
    const secret = newSecret();
    await writeFile(join(cwd, "restante.json"), '{"port":9000}');
    const environment = {
      RESTANTE_ADMIN_TOKEN: secret,
      RESTANTE_STORE: `postgres://a:${secret}@b/c`,
    };
    const text = await run(["settings", "--log-level", "warn"], { cwd, environment });
    assert.deepEqual([text.code, text.stderr], [0, ""]);
    assert.match(text.stdout, /^port +9000 {2}\(\/.*restante\.json\)$/m);
    assert.match(text.stdout, /^logLevel +"warn" {2}\(--log-level\)$/m);
    assert.match(text.stdout, /^maxCascade +1000$/m);
    const json = await run(["settings", "--json"], { cwd, environment });
    const { data } = JSON.parse(json.stdout);
    assert.deepEqual(
      data.map(({ name }: { name: string }) => name),
      Object.keys(settings),
    );
    assert.ok(!(text.stdout + json.stdout).includes(secret));
  });

  it("prints the schema, and all faults with exit code 2", async () => {
    await writeFile(join(cwd, "restante.json"), '{"prot":9000,"host":1}');
    const wrong = await run(["settings", "--port", "x"], { cwd });
    assert.equal(wrong.code, 2);
    for (const word of ['did you mean "port"', '"host" 1: must', '--port "x": must'])
      assert.ok(wrong.stderr.includes(word), wrong.stderr);
    await rm(join(cwd, "restante.json"));
    const { stdout } = await run(["settings", "--schema"], { cwd });
    assert.equal(JSON.parse(stdout).properties.port.default, 8080);
  });
});

describe("the log on a terminal", () => {
  const isAble = spawnSync("script", ["--version"]).status === 0;
  const skip = isAble ? false : "util-linux's script is needed";

  /** What the terminal shows of a request that is rejected. */
  async function shownLine(environment: Readonly<Record<string, string>>): Promise<string> {
    const command = `exec ${commandLine.join(" ")} serve --port 0 --data shown`;
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE, TERM: "xterm", ...environment };
    const child = spawn("script", ["-qec", command, "/dev/null"], { cwd, env, stdio: "pipe" });
    const ended = once(child, "close");
    let text = "";
    let isAsked = false;
    for await (const chunk of child.stdout) {
      text += chunk;
      const url = /listening on +(http:\S+)/.exec(stripVTControlCharacters(text))?.[1];
      if (url !== undefined && !isAsked) {
        isAsked = true;
        void fetch(`${url}/people?limit=abc`);
      }
      if (/ ms/.test(text) && text.endsWith("\n")) break;
    }
    // `script` itself would wait before it ends.
    for (const server of await childrenOf(child.pid ?? 0)) process.kill(server);
    await ended;
    return text.split("\r\n").find((line) => line.includes(" ms")) ?? assert.fail(text);
  }

  it("is short and coloured, unless NO_COLOR is set", { skip }, async () => {
    const coloured = await shownLine({});
    assert.ok(coloured.includes("\u001b[33m401\u001b[39m"), JSON.stringify(coloured));
    const plain = await shownLine({ NO_COLOR: "1" });
    assert.match(plain, /^\d\d:\d\d:\d\d 401 GET \/people [a-z-]+ \d+(\.\d)? ms client=\S+$/);
  });
});
